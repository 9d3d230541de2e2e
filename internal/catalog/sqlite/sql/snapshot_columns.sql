SELECT stream_id, id, name, physical, types FROM stream_columns
WHERE stream_id IN (SELECT value FROM json_each(?1)) ORDER BY stream_id, id
