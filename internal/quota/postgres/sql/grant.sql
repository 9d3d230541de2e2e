INSERT INTO quota_grant (kind, org, name, frontend, incarnation, quota)
SELECT $1, $2, $3, g.frontend, g.incarnation, g.quota
FROM unnest($4::text[], $5::bigint[], $6::bigint[]) AS g (frontend, incarnation, quota)
