-- Forgets reports of frontends long silent; one with a debt is kept for a day, since its node may come back and owe it.
DELETE FROM quota_report
WHERE kind = $1 AND org = $2 AND name = $3
    AND reported_at < clock_timestamp() - CASE WHEN debt > 0 THEN interval '1 day' ELSE interval '10 minutes' END
