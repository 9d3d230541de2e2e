SELECT count(*) FROM segments WHERE id IN (SELECT value FROM json_each(?2)) AND dataset_id = ?1
