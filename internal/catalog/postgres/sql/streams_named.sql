SELECT s.id, s.database_id, s.dataset_id, s.signal, s.name, s.options, s.created_at, d.name
FROM databases AS d
CROSS JOIN unnest($3::smallint[], $4::text[]) AS wanted (signal, name)
JOIN streams AS s ON s.database_id = d.id AND s.signal = wanted.signal AND s.name = wanted.name
WHERE d.org = $1 AND d.name = $2
