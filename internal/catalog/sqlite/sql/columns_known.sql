-- ?1 is a JSON array of [dataset, stream, column, types]. CROSS JOIN keeps the order of the join.
SELECT count(*)
FROM json_each(?1) AS published
CROSS JOIN streams AS s ON s.id = published.value ->> 1 AND s.dataset_id = published.value ->> 0
CROSS JOIN stream_columns AS c ON c.stream_id = s.id AND c.id = published.value ->> 2
