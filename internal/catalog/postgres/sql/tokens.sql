SELECT prefix, hash, name, orgs, rights, created_by, created_at, expires_at, used_at FROM tokens ORDER BY prefix
