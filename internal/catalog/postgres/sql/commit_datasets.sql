-- Takes the datasets of a round, always in the order of ids, so that rounds wait for each other and never in a circle.
SELECT id, org FROM datasets WHERE id = ANY ($1::bigint[]) ORDER BY id FOR NO KEY UPDATE
