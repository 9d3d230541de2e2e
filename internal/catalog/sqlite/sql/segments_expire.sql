UPDATE segments SET retired_at = ?3 WHERE dataset_id = ?1 AND retired_at IS NULL AND max_time < ?2
