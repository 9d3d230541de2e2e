UPDATE datasets SET version = version + 1 WHERE id = ?1
