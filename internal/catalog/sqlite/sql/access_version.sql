SELECT value FROM counters WHERE name = 'access'
