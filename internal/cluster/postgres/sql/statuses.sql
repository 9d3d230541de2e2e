SELECT id, incarnation, roles, address, http_address, version, ready, phase, unflushed_rows, started_at, heartbeat_at,
    clock_timestamp() - heartbeat_at, query_slots
FROM cluster_node
WHERE $1 = '' OR id = $1
ORDER BY id
