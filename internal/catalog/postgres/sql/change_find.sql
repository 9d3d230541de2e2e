SELECT id FROM changes
WHERE id > $4 AND action = $1 AND object = $2 AND detail = $3
ORDER BY id
LIMIT 1
