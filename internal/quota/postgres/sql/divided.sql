-- Records a division. One that changes nothing leaves epoch and limit as they are; they are the same. $6 is how long to learn, 0 = not anew.
INSERT INTO quota_budget (kind, org, name, epoch, divided, divided_at, learning_until)
VALUES ($1, $2, $3, 1, $4, clock_timestamp(), NULL)
ON CONFLICT (kind, org, name) DO UPDATE SET
    epoch = quota_budget.epoch + $5::int, divided = excluded.divided, divided_at = excluded.divided_at,
    learning_until = CASE WHEN $6::float8 > 0 THEN clock_timestamp() + make_interval(secs => $6) ELSE quota_budget.learning_until END
