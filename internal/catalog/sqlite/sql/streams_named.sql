-- ?2 is a JSON array of [signal, name]. CROSS JOIN keeps the order of the join: the list is outside, the index inside.
SELECT s.id, s.database_id, s.dataset_id, s.signal, s.name, s.options, s.created_at
FROM json_each(?2) AS wanted
CROSS JOIN streams AS s ON s.database_id = ?1 AND s.signal = wanted.value ->> 0 AND s.name = wanted.value ->> 1
