DELETE FROM changes WHERE id <= $1
