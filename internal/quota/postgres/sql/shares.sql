-- The shares of a frontend, beside the server's time; a row of nulls when there are none.
SELECT clock_timestamp(), g.kind, g.org, g.name, g.epoch, g.quota, g.divided
FROM (SELECT) AS always
LEFT JOIN (
    SELECT kind, org, name, b.epoch, q.quota, b.divided
    FROM quota_grant AS q JOIN quota_budget AS b USING (kind, org, name)
    WHERE q.frontend = $1 AND q.incarnation = $2
) AS g ON true
