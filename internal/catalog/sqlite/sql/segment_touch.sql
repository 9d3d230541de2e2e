UPDATE datasets SET version = version + 1 WHERE id = (SELECT dataset_id FROM segments WHERE id = ?1)
