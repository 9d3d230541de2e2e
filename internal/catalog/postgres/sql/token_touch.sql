UPDATE tokens SET used_at = $2 WHERE prefix = $1 AND (used_at IS NULL OR used_at < $2)
