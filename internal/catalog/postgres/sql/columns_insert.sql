INSERT INTO stream_columns (stream_id, id, name, physical)
SELECT $1, added.id, added.name, added.physical FROM unnest($2::integer[], $3::bytea[], $4::text[]) AS added (id, name, physical)
