-- Answers how many of the published columns exist. Columns that have the types already are not written.
WITH known AS (
    SELECT c.stream_id, c.id, c.types AS old, published.types
    FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::smallint[]) AS published (dataset_id, stream_id, id, types)
    JOIN streams AS s ON s.id = published.stream_id AND s.dataset_id = published.dataset_id
    JOIN stream_columns AS c ON c.stream_id = s.id AND c.id = published.id
), widened AS (
    UPDATE stream_columns AS c SET types = c.types | known.types
    FROM known
    WHERE c.stream_id = known.stream_id AND c.id = known.id AND known.old | known.types <> known.old
)
SELECT count(*) FROM known
