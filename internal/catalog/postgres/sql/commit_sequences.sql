-- Runs after commit_datasets has its locks: under READ COMMITTED it sees what earlier holders committed.
SELECT dataset_id, epoch, sequence FROM commits WHERE dataset_id = ANY ($1::bigint[]) AND node = $2 AND epoch >= $3
