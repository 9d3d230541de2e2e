INSERT INTO commits (dataset_id, node, epoch, sequence) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (dataset_id, node, epoch) DO UPDATE SET sequence = excluded.sequence
