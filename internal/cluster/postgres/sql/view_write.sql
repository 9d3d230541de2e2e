UPDATE cluster_view
SET version = version + 1, epoch = $2, algo = $3, members = $4::jsonb, observed_at = $5, reachable_since = $6
WHERE version = $1 AND clock_timestamp() < $7
