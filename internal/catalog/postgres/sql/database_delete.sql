DELETE FROM databases WHERE id = $1
