DELETE FROM writers WHERE node = $1 AND epoch = $2
