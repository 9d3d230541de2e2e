INSERT INTO work_lease AS l (work, item, holder, token, expires_at)
VALUES ($1, $2, $3, $4, clock_timestamp() + $5::interval)
ON CONFLICT (work, item) DO UPDATE SET holder = excluded.holder, token = excluded.token, expires_at = excluded.expires_at
WHERE l.expires_at <= clock_timestamp()
RETURNING expires_at
