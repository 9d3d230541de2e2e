DELETE FROM tokens WHERE prefix = ?1
