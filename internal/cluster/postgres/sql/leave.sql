DELETE FROM cluster_node WHERE id = $1 AND incarnation = $2
