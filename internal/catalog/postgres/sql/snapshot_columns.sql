SELECT stream_id, id, name, physical, types FROM stream_columns WHERE stream_id = ANY ($1::bigint[]) ORDER BY stream_id, id
