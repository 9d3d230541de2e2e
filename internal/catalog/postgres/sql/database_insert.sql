INSERT INTO databases (org, name, options, created_at) VALUES ($1, $2, $3, now())
ON CONFLICT (org, name) DO NOTHING
