INSERT INTO segments (
    id, dataset_id, org, object_key, bytes, row_count, min_time, max_time, partition_unit, partition_start, level, format,
    checksum, row_groups, columns, index_key, index_bytes, created_at
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, now())
