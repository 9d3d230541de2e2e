UPDATE streams SET options = $2 WHERE id = $1
