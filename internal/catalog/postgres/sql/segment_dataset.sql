SELECT dataset_id FROM segments WHERE id = $1 AND retired_at IS NULL
