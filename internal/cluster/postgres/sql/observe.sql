SELECT clock_timestamp(), v.version, v.epoch, v.algo, v.members, v.observed_at, v.reachable_since,
    n.id, n.incarnation, n.roles, n.address, n.http_address, n.version, n.query_slots, n.ready, n.heartbeat_at, n.ready_at
FROM cluster_view v LEFT JOIN cluster_node n ON true
ORDER BY n.id
