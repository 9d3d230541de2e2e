UPDATE segments SET index_key = ?3, index_bytes = ?4 WHERE id = ?1 AND retired_at IS NULL AND index_key = ?2
