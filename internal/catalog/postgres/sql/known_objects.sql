SELECT object_key FROM segments WHERE object_key = ANY ($1::text[])
UNION ALL
SELECT index_key FROM segments WHERE index_key = ANY ($1::text[]) AND index_key <> ''
