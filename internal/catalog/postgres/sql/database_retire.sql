UPDATE segments SET retired_at = statement_timestamp()
WHERE retired_at IS NULL AND dataset_id IN (SELECT id FROM datasets WHERE database_id = $1)
