UPDATE cluster_node SET heartbeat_at = least(heartbeat_at, clock_timestamp()), ready_at = least(ready_at, clock_timestamp())
WHERE heartbeat_at > clock_timestamp() OR ready_at > clock_timestamp()
