package faultfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// sectorSize is the unit in which unsynced content is torn.
const sectorSize = 512

// Crash returns the file system as it might look after a power cut at this moment; seed chooses among the possibilities. The
// capacity is kept, faults and locks are not. f itself goes on as if nothing had happened.
func (f *FS) Crash(seed uint64) *FS {
	rng := rand.New(rand.NewPCG(seed, 1))
	f.mu.Lock()
	defer f.mu.Unlock()
	names := maps.Clone(f.mu.disk)
	for _, dir := range sortedKeys(f.mu.journal) {
		changes := f.mu.journal[dir]
		for _, c := range changes[:rng.IntN(len(changes)+1)] {
			apply(names, c)
		}
	}
	return f.restore(names, func(n *node) []byte { return n.after(rng) })
}

// Clone returns a copy of the file system as a killed process leaves it: programs see everything, and what was not synced is not
// durable yet. Faults and locks are not copied.
func (f *FS) Clone() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := New()
	g.mu.capacity = f.mu.capacity
	copies := map[*node]*node{nil: nil}
	duplicate := func(n *node) *node {
		if c, ok := copies[n]; ok {
			return c
		}
		c := *n
		c.data, c.synced, c.stale = slices.Clone(n.data), slices.Clone(n.synced), slices.Clone(n.stale)
		copies[n] = &c
		return &c
	}
	for p, n := range f.mu.now {
		g.mu.now[p] = duplicate(n)
	}
	for p, n := range f.mu.disk {
		g.mu.disk[p] = duplicate(n)
	}
	for dir, changes := range f.mu.journal {
		for _, c := range changes {
			c.node = duplicate(c.node)
			g.mu.journal[dir] = append(g.mu.journal[dir], c)
		}
	}
	return g
}

// restore builds an FS of the names that can be reached, with the given contents. Callers hold mu.
func (f *FS) restore(names map[string]*node, content func(*node) []byte) *FS {
	g := New()
	g.mu.capacity = f.mu.capacity
	for _, p := range sortedKeys(names) { // parents sort before children
		if p == "" || g.mu.now[parent(p)] == nil {
			continue
		}
		n := &node{dir: names[p].dir}
		if !n.dir {
			n.data = content(names[p])
			n.synced, n.dirtyFrom = slices.Clone(n.data), len(n.data)
		}
		g.mu.now[p], g.mu.disk[p] = n, n
	}
	return g
}

// after returns what the disk may hold of n.
func (n *node) after(rng *rand.Rand) []byte {
	var out []byte
	switch dirty := n.dirtyFrom < len(n.data) || len(n.data) != len(n.synced); {
	case !dirty || rng.IntN(3) == 0:
		out = slices.Clone(n.synced)
	case rng.IntN(2) == 0:
		out = slices.Clone(n.data)
	default:
		low, high := min(len(n.synced), len(n.data)), max(len(n.synced), len(n.data))
		out = make([]byte, low+rng.IntN(high-low+1))
		for at := 0; at < len(out); at += sectorSize {
			from := [][]byte{n.synced, n.data}[rng.IntN(2)]
			copySector(out, from, at)
		}
	}
	for at := n.doubtFrom &^ (sectorSize - 1); at < min(n.doubtTo, len(out)); at += sectorSize {
		if rng.IntN(2) == 0 {
			copySector(out, n.stale, at)
		}
	}
	return out
}

// copySector sets the sector of out at that offset to that of from, zeros beyond its end.
func copySector(out, from []byte, at int) {
	sector := out[at:min(at+sectorSize, len(out))]
	clear(sector)
	if at < len(from) {
		copy(sector, from[at:])
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
