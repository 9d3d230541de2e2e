SELECT d.id, d.org, b.name, d.signal, d.name, d.version, b.options, coalesce(s.options, '')
FROM datasets AS d
JOIN databases AS b ON b.id = d.database_id
LEFT JOIN streams AS s ON s.dataset_id = d.id AND s.name = d.name AND d.signal <> 2 -- metrics share a dataset
WHERE ($1 = '' OR d.org = $1) AND EXISTS (SELECT 1 FROM segments WHERE dataset_id = d.id AND retired_at IS NULL)
ORDER BY d.id
