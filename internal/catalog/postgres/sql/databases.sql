SELECT id, org, name, options, created_at FROM databases WHERE org = $1 ORDER BY name
