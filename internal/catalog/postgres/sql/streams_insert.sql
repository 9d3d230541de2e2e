INSERT INTO streams (database_id, dataset_id, signal, name, created_at)
SELECT d.database_id, d.id, d.signal, wanted.name, now()
FROM unnest($2::smallint[], $3::text[], $4::text[]) AS wanted (signal, name, dataset)
JOIN datasets AS d ON d.database_id = $1 AND d.signal = wanted.signal AND d.name = wanted.dataset
ON CONFLICT (database_id, signal, name) DO NOTHING
