SELECT id, name, physical, types FROM stream_columns WHERE stream_id = $1 ORDER BY id
