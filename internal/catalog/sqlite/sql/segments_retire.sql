UPDATE segments SET retired_at = ?3
WHERE id IN (SELECT value FROM json_each(?2)) AND dataset_id = ?1 AND retired_at IS NULL
