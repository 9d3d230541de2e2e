UPDATE databases SET options = $2 WHERE id = $1
