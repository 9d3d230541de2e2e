SELECT id, at, actor, action, org, object, detail FROM changes
WHERE object = $1
ORDER BY id DESC
LIMIT 1
