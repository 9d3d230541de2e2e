SELECT id, org FROM datasets WHERE id IN (SELECT value FROM json_each(?1))
