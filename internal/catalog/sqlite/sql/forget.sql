DELETE FROM segments WHERE id IN (SELECT value FROM json_each(?1)) AND retired_at IS NOT NULL
