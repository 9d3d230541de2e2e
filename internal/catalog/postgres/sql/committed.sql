SELECT dataset_id, sequence FROM commits WHERE node = $1 AND epoch = $2
