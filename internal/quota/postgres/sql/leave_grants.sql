DELETE FROM quota_grant
WHERE frontend = $1 AND incarnation = $2
    AND (cardinality($3::text[]) = 0 OR (kind, org, name) IN (SELECT * FROM unnest($3::text[], $4::text[], $5::text[])))
