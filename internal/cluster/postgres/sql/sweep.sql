DELETE FROM cluster_node
WHERE heartbeat_at < now() - $1::interval AND EXISTS (
    SELECT FROM cluster_view WHERE observed_at >= now() - $2::interval AND reachable_since <= now() - $3::interval
)
