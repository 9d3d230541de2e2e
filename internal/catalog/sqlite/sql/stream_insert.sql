INSERT INTO streams (database_id, dataset_id, signal, name, created_at)
SELECT database_id, id, signal, ?4, ?5 FROM datasets WHERE database_id = ?1 AND signal = ?2 AND name = ?3
ON CONFLICT (database_id, signal, name) DO NOTHING
