UPDATE segments SET retired_at = statement_timestamp() WHERE dataset_id = $1 AND retired_at IS NULL AND max_time < $2
