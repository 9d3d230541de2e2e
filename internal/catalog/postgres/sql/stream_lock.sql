-- Serialises changes of one stream's options.
SELECT s.id, s.database_id, s.dataset_id, s.signal, s.name, s.options, s.created_at, d.name
FROM databases AS d JOIN streams AS s ON s.database_id = d.id AND s.signal = $3 AND s.name = $4
WHERE d.org = $1 AND d.name = $2
FOR NO KEY UPDATE OF s
