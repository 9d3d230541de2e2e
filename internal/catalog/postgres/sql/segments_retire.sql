UPDATE segments SET retired_at = statement_timestamp()
WHERE id = ANY ($2::bigint[]) AND dataset_id = $1 AND retired_at IS NULL
