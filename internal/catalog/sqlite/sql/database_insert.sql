INSERT INTO databases (org, name, options, created_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (org, name) DO NOTHING
