UPDATE datasets SET version = version + 1 WHERE id = ANY ($1::bigint[])
