INSERT INTO cluster_drain AS d (node, incarnation, requested_at, updated_at)
SELECT id, incarnation, now(), now() FROM cluster_node WHERE id = $1 AND heartbeat_at >= now() - $2::interval
ON CONFLICT (node) DO UPDATE SET
    incarnation = excluded.incarnation, phase = '', unflushed_rows = 0,
    requested_at = excluded.requested_at, updated_at = excluded.updated_at, ended_at = NULL
WHERE d.incarnation <> excluded.incarnation
