-- Locks budgets until the end of the transaction and returns those that nobody else had locked. Two that share a hash share a lock.
SELECT kind, org, name
FROM unnest($1::text[], $2::text[], $3::text[]) AS b (kind, org, name)
WHERE pg_try_advisory_xact_lock($4, hashtext(concat_ws('/', kind, org, name)))
