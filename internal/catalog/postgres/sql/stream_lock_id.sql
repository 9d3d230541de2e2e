-- Serialises the naming of one stream's columns.
SELECT id FROM streams WHERE id = $1 FOR NO KEY UPDATE
