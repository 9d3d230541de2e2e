-- Serialises registration, options and drop of one database. Order of locks: database, datasets by id, streams.
SELECT id, org, name, options, created_at FROM databases WHERE org = $1 AND name = $2 FOR UPDATE
