-- What other incarnations of a frontend reported last, beside the server's time; a row of nulls when there is nothing.
SELECT clock_timestamp(), r.kind, r.org, r.name, r.limit_seen, r.quota, r.debt, r.reported_at
FROM (SELECT) AS always LEFT JOIN quota_report AS r ON r.frontend = $1 AND r.incarnation <> $2
