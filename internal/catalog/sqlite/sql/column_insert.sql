INSERT INTO stream_columns (stream_id, id, name, physical) VALUES (?1, ?2, ?3, ?4)
