INSERT INTO datasets (database_id, org, signal, name)
SELECT DISTINCT $1::bigint, $2::text, wanted.signal, wanted.name FROM unnest($3::smallint[], $4::text[]) AS wanted (signal, name)
ON CONFLICT (database_id, signal, name) DO NOTHING
