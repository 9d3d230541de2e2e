INSERT INTO commits (dataset_id, node, epoch, sequence)
SELECT part.dataset_id, $1, $2, part.sequence FROM unnest($3::bigint[], $4::bigint[]) AS part (dataset_id, sequence)
ON CONFLICT (dataset_id, node, epoch) DO UPDATE SET sequence = excluded.sequence
