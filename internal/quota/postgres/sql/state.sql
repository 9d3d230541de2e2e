-- The last division of a budget and its reports, beside each other.
SELECT
    coalesce(b.divided, 0), coalesce(extract(epoch FROM clock_timestamp() - b.divided_at)::float8, 0),
    coalesce(b.learning_until > clock_timestamp(), false),
    r.frontend, r.incarnation, r.load, r.is_new, r.debt, r.quota, extract(epoch FROM clock_timestamp() - r.reported_at)::float8
FROM (SELECT $1::text AS kind, $2::text AS org, $3::text AS name) AS k
LEFT JOIN quota_budget AS b USING (kind, org, name)
LEFT JOIN quota_report AS r USING (kind, org, name)
