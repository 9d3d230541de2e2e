SELECT count(*)
FROM databases AS d JOIN streams AS s ON s.database_id = d.id
WHERE d.org = ?1
