DELETE FROM quota_grant WHERE kind = $1 AND org = $2 AND name = $3
