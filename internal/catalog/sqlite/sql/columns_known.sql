-- ?1 is a JSON array of [dataset, stream, column, types]
SELECT count(*)
FROM json_each(?1) AS published
JOIN streams AS s ON s.id = published.value ->> 1 AND s.dataset_id = published.value ->> 0
JOIN stream_columns AS c ON c.stream_id = s.id AND c.id = published.value ->> 2
