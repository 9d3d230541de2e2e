SELECT d.node, d.incarnation, d.phase, d.unflushed_rows, d.requested_at, d.updated_at, d.ended_at
FROM cluster_drain d LEFT JOIN cluster_node n ON n.id = d.node AND n.incarnation = d.incarnation
WHERE d.node = $1 AND (n.id IS NOT NULL OR d.ended_at IS NULL)
