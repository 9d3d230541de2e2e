INSERT INTO changes (at, actor, action, org, object, detail) VALUES (?6, ?1, ?2, ?3, ?4, ?5) RETURNING id
