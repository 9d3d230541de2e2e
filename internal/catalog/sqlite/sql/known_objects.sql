SELECT wanted.value FROM json_each(?1) AS wanted
WHERE EXISTS (SELECT 1 FROM segments WHERE object_key = wanted.value)
   OR EXISTS (SELECT 1 FROM segments WHERE index_key = wanted.value AND index_key <> '')
