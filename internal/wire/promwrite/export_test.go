package promwrite

// Sets returns how many sets are known.
func (k *Known) Sets() int {
	k.mu.RLock()
	defer k.mu.RUnlock()
	n := len(k.mu.young)
	for set := range k.mu.old {
		if k.mu.young[set] == nil {
			n++
		}
	}
	return n
}

// Count returns how often a set was known and how often it was not since it was called last.
func (k *Known) Count() (hits, misses int) {
	return int(k.hits.Swap(0)), int(k.misses.Swap(0))
}
