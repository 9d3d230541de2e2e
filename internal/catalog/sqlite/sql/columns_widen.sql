-- ?1 is a JSON array of [dataset, stream, column, types]; columns that have the types already are not written
UPDATE stream_columns SET types = stream_columns.types | published.types
FROM (SELECT value ->> 1 AS stream_id, value ->> 2 AS id, value ->> 3 AS types FROM json_each(?1)) AS published
WHERE stream_columns.stream_id = published.stream_id AND stream_columns.id = published.id
  AND stream_columns.types | published.types <> stream_columns.types
