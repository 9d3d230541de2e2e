INSERT INTO tokens (prefix, hash, name, orgs, rights, created_by, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, now(), $7)
ON CONFLICT (prefix) DO NOTHING
