UPDATE counters SET value = $2 WHERE name = $1 AND value < $2
