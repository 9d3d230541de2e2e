package promstore

import (
	"github.com/prometheus/prometheus/storage"

	"github.com/millstream/millstream/internal/catalog"
)

// Cache is a cache of blocks for tests.
type Cache struct{ c *cache }

// NewCache returns a cache of so many bytes.
func NewCache(limit int64) Cache { return Cache{newCache(limit)} }

// Block asks for the block of a row group whose runs are of the label sets, and tells whether it had to be loaded. It returns the sets
// of the block's runs.
func (c Cache) Block(segment catalog.SegmentID, group int, sets ...string) (found []string, loaded bool, err error) {
	b, err := cached(c.c, cacheKey{segment: segment, group: int32(group), what: cachedBlock}, func() (*block, int64, error) {
		loaded = true
		b := &block{}
		var scratch internScratch
		c.c.mu.Lock()
		defer c.c.mu.Unlock()
		for i, set := range sets {
			k, err := c.c.intern("m", []byte(set), &scratch)
			if err != nil {
				c.c.release(b)
				return nil, 0, err
			}
			b.runs = append(b.runs, blockRun{k, k.id, int32(i + 1)})
		}
		return b, blockRunBytes * int64(len(sets)), nil
	})
	if err != nil {
		return nil, loaded, err
	}
	for _, r := range b.runs {
		found = append(found, r.series.lset.String())
	}
	return found, loaded, nil
}

// Held returns how many bytes, items and series the cache holds, and how many ids it has ever given.
func (c Cache) Held() (bytes int64, items, series, ids int) {
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	return c.c.mu.bytes, len(c.c.mu.items), len(c.c.mu.series), int(c.c.mu.ids)
}

// Point is a sample of a Piece.
type Point struct {
	T int64
	V float64
	H []byte // stored form of a histogram, nil for a float
}

// Piece is samples of a series from one place, in the order in which they lie there.
type Piece struct {
	Version int64
	Points  []Point
}

// Series returns a series of pieces, from a time on, settled.
func Series(from int64, pieces ...Piece) storage.Series {
	s := &series{from: from}
	for _, p := range pieces {
		x := piece{version: p.Version}
		for _, point := range p.Points {
			x.times, x.values = append(x.times, point.T), append(x.values, point.V)
			x.histograms = append(x.histograms, point.H)
		}
		s.pieces = append(s.pieces, x)
	}
	s.settle()
	return s
}
