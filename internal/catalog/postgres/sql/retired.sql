SELECT id, dataset_id, org, object_key, bytes, row_count, min_time, max_time, partition_unit, partition_start, level, format,
       checksum, row_groups, columns, index_key, index_bytes, created_at, retired_at
FROM segments
WHERE retired_at IS NOT NULL AND retired_at <= $1
ORDER BY retired_at, id LIMIT $2
