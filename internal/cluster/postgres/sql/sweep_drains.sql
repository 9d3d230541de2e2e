DELETE FROM cluster_drain WHERE updated_at < now() - $1::interval
