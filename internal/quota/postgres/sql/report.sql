-- Writes reports and returns the budgets whose division is older than $14, or lies in the future, or has no share of the frontend.
WITH said AS (
    SELECT * FROM unnest(
        $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::boolean[], $10::bigint[], $11::bigint[],
        $12::bigint[], $13::bigint[]
    ) AS s (kind, org, name, accepted, refused, load, is_new, debt, limit_seen, quota, epoch)
), written AS (
    INSERT INTO quota_report (
        kind, org, name, frontend, incarnation, accepted, refused, load, is_new, debt, limit_seen, quota, epoch, reported_at
    )
    SELECT kind, org, name, $1, $2, accepted, refused, load, is_new, debt, limit_seen, quota, epoch, clock_timestamp() FROM said
    ON CONFLICT (kind, org, name, frontend) DO UPDATE SET
        incarnation = excluded.incarnation, accepted = excluded.accepted, refused = excluded.refused, load = excluded.load,
        is_new = excluded.is_new, debt = excluded.debt, limit_seen = excluded.limit_seen, quota = excluded.quota,
        epoch = excluded.epoch, reported_at = excluded.reported_at
)
SELECT said.kind, said.org, said.name
FROM said
LEFT JOIN quota_budget AS b ON b.kind = said.kind AND b.org = said.org AND b.name = said.name
LEFT JOIN quota_grant AS g ON g.kind = said.kind AND g.org = said.org AND g.name = said.name AND g.frontend = $1 AND g.incarnation = $2
WHERE b.epoch IS NULL OR g.frontend IS NULL
    OR b.divided_at NOT BETWEEN clock_timestamp() - make_interval(secs => $14) AND clock_timestamp()
