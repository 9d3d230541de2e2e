SELECT count(*) FROM segments WHERE id = ANY ($2::bigint[]) AND dataset_id = $1
