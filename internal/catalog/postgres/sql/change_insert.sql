INSERT INTO changes (at, actor, action, org, object, detail) VALUES (now(), $1, $2, $3, $4, $5) RETURNING id
