INSERT INTO datasets (database_id, org, signal, name) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (database_id, signal, name) DO NOTHING
