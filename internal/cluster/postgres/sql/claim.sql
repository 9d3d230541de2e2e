INSERT INTO cluster_node AS n (id, incarnation, roles, address, http_address, version, ready, started_at, heartbeat_at,
    query_slots)
VALUES ($1, $2, $3, $4, $5, $6, false, clock_timestamp(), clock_timestamp(), $9)
ON CONFLICT (id) DO UPDATE SET
    incarnation = excluded.incarnation, roles = excluded.roles, address = excluded.address, http_address = excluded.http_address,
    version = excluded.version, query_slots = excluded.query_slots, ready = false, phase = '', unflushed_rows = 0,
    started_at = excluded.started_at, heartbeat_at = excluded.heartbeat_at
WHERE n.incarnation IN ($2, $7) OR n.heartbeat_at < clock_timestamp() - $8::interval
