SELECT node, incarnation, phase, unflushed_rows, requested_at, updated_at, ended_at
FROM cluster_drain
WHERE updated_at >= now() - $1::interval
ORDER BY node
