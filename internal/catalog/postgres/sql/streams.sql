SELECT s.id, s.database_id, s.dataset_id, s.signal, s.name, s.options, s.created_at, d.name
FROM databases AS d JOIN streams AS s ON s.database_id = d.id
WHERE d.org = $1 ORDER BY d.name, s.signal, s.name
