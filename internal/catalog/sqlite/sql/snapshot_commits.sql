SELECT dataset_id, node, epoch, sequence FROM commits WHERE dataset_id IN (SELECT value FROM json_each(?1))
