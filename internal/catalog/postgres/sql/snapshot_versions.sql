SELECT id, version FROM datasets WHERE id = ANY ($1::bigint[])
