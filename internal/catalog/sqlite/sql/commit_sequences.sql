SELECT dataset_id, epoch, sequence FROM commits
WHERE dataset_id IN (SELECT value FROM json_each(?1)) AND node = ?2 AND epoch >= ?3
