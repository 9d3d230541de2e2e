SELECT org FROM datasets WHERE id = ?1
