INSERT INTO cluster_node AS n
    (id, incarnation, roles, address, http_address, version, ready, phase, unflushed_rows, started_at, heartbeat_at, ready_at,
     query_slots)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now(), now(), CASE WHEN $7 THEN now() END, $10)
ON CONFLICT (id) DO UPDATE SET
    roles = excluded.roles, address = excluded.address, http_address = excluded.http_address, version = excluded.version,
    query_slots = excluded.query_slots,
    ready = excluded.ready, phase = excluded.phase, unflushed_rows = excluded.unflushed_rows, heartbeat_at = excluded.heartbeat_at,
    ready_at = CASE WHEN excluded.ready THEN excluded.ready_at WHEN n.ready THEN NULL ELSE n.ready_at END
WHERE n.incarnation = excluded.incarnation
RETURNING EXISTS (SELECT FROM cluster_drain d WHERE d.node = $1 AND d.incarnation = $2 AND d.ended_at IS NULL)
