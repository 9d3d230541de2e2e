UPDATE secrets SET sealed = ?3 WHERE name = ?1 AND sealed = ?2
