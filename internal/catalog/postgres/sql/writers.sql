SELECT node, epoch, address, started_at FROM writers ORDER BY node, epoch
