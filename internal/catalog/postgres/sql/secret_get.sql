SELECT sealed FROM secrets WHERE name = $1
