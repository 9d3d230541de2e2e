SELECT id, at, actor, action, org, object, detail FROM changes
WHERE $1::bigint = 0 OR id < $1
ORDER BY id DESC
LIMIT $2
