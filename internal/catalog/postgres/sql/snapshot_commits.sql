SELECT dataset_id, node, epoch, sequence FROM commits WHERE dataset_id = ANY ($1::bigint[])
