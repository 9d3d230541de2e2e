INSERT INTO writers (node, epoch, address, started_at) VALUES ($1, $2, $3, now())
ON CONFLICT (node, epoch) DO UPDATE SET address = excluded.address
RETURNING started_at
