UPDATE cluster_drain
SET phase = $3, unflushed_rows = $4, updated_at = now(), ended_at = CASE WHEN $5 THEN now() END
WHERE node = $1 AND incarnation = $2 AND ended_at IS NULL
