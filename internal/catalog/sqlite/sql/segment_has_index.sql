SELECT count(*) FROM segments WHERE id = ?1 AND +index_key = ?2
