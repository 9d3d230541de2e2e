-- Waits for commits and replacements under way and keeps new ones out, in the order in which they lock.
SELECT id FROM datasets WHERE database_id = $1 ORDER BY id FOR UPDATE
