SELECT id, dataset_id, org, object_key, bytes, row_count, min_time, max_time, partition_unit, partition_start, level, format,
       checksum, row_groups, columns, index_key, index_bytes, created_at, retired_at
FROM segments
WHERE dataset_id = ANY ($1::bigint[]) AND retired_at IS NULL AND max_time >= $2 AND min_time < $3 AND $2::bigint < $3::bigint
ORDER BY dataset_id, min_time, id
