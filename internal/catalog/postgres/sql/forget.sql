DELETE FROM segments WHERE id = ANY ($1::bigint[]) AND retired_at IS NOT NULL
