SELECT pg_advisory_xact_lock($1, hashtext($2))
