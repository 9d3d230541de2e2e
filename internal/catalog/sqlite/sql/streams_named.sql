-- ?2 is a JSON array of [signal, name]
SELECT s.id, s.database_id, s.dataset_id, s.signal, s.name, s.options, s.created_at
FROM json_each(?2) AS wanted
JOIN streams AS s ON s.database_id = ?1 AND s.signal = wanted.value ->> 0 AND s.name = wanted.value ->> 1
