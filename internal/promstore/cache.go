package promstore

import (
	"container/list"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/millstream/millstream/internal/catalog"
)

// cache keeps what queries have decoded of segments, which never change: footers, the series of row groups and their samples. What was not
// used for the longest time goes first. It is safe for concurrent use; what it holds is never written.
type cache struct {
	limit int64 // bytes
	mu    struct {
		sync.Mutex
		items  map[cacheKey]*list.Element
		recent *list.List // of *cacheItem, the last used first
		bytes  int64
		series map[seriesKey]*knownSeries // of all blocks
		free   []uint32                   // ids of series that are no more
		ids    uint32                     // given so far
	}
}

// cacheKey says what an item is of: a file, a row group of it, or the rows of one metric in a row group.
type cacheKey struct {
	segment catalog.SegmentID
	group   int32
	what    cachedKind
	metric  string // empty: all
}

type cachedKind uint8

const (
	cachedFile cachedKind = iota
	cachedParts
	cachedBlock
	cachedSamples
)

type cacheItem struct {
	key   cacheKey
	value any
	bytes int64
}

// knownSeries is a series of a block, shared by all blocks.
type knownSeries struct {
	seriesKey
	lset labels.Labels
	id   uint32 // less than the number of series; once the series is no more another may have it
	// Under the cache's lock:
	refs int          // runs of blocks
	next *knownSeries // that followed it last: files are sorted, so it mostly does so again
}

// knownSeriesBytes is what a series takes beside its texts, which it has twice.
const knownSeriesBytes = 160

func newCache(limit int64) *cache {
	c := &cache{limit: limit}
	c.mu.items, c.mu.recent, c.mu.series = make(map[cacheKey]*list.Element), list.New(), make(map[seriesKey]*knownSeries)
	return c
}

// cached returns an item, or has it loaded and keeps it. An item that several ask for at once is loaded by each of them.
func cached[T any](c *cache, key cacheKey, load func() (value T, bytes int64, err error)) (T, error) {
	if v, ok := c.get(key); ok {
		return v.(T), nil //nolint:forcetypeassert // a kind of item has one type
	}
	v, bytes, err := load()
	if err == nil {
		c.put(&cacheItem{key: key, value: v, bytes: bytes + cacheItemBytes + int64(len(key.metric))})
	}
	return v, err
}

const cacheItemBytes = 200

func (c *cache) get(key cacheKey) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.mu.items[key]
	if !ok {
		return nil, false
	}
	c.mu.recent.MoveToFront(e)
	return e.Value.(*cacheItem).value, true //nolint:forcetypeassert // the list holds nothing else
}

func (c *cache) put(item *cacheItem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.mu.items[item.key]; ok {
		c.drop(e)
	}
	c.mu.items[item.key] = c.mu.recent.PushFront(item)
	c.mu.bytes += item.bytes
	for c.mu.bytes > c.limit && c.mu.recent.Len() > 0 {
		c.drop(c.mu.recent.Back())
	}
}

// drop forgets an item. The caller has the lock.
func (c *cache) drop(e *list.Element) {
	item := c.mu.recent.Remove(e).(*cacheItem) //nolint:forcetypeassert // the list holds nothing else
	delete(c.mu.items, item.key)
	c.mu.bytes -= item.bytes
	if b, ok := item.value.(*block); ok {
		c.release(b)
	}
}

// intern returns the series of stored texts for one more run of a block. The set is copied if need be.
func (c *cache) intern(metric string, set []byte, s *internScratch) (*knownSeries, error) {
	if s.last != nil && s.last.next != nil {
		if k := s.last.next; k.refs > 0 && k.labels == string(set) && k.metric == metric {
			k.refs++
			s.last = k
			return k, nil
		}
	}
	k, ok := c.mu.series[seriesKey{metric, string(set)}]
	if !ok {
		key := seriesKey{metric, string(set)}
		var err error
		if s.pairs, err = appendPairs(s.pairs[:0], key.labels); err != nil {
			return nil, err
		}
		k = &knownSeries{seriesKey: key, lset: labelsOf(&s.builder, metric, s.pairs), id: c.newID()}
		c.mu.series[key] = k
		c.mu.bytes += k.bytes()
	}
	k.refs++
	if s.last != nil {
		s.last.next = k
	}
	s.last = k
	return k, nil
}

// internScratch is what interning one run after the other uses again.
type internScratch struct {
	last    *knownSeries
	pairs   []pair
	builder labels.ScratchBuilder
}

func (k *knownSeries) bytes() int64 { return knownSeriesBytes + 2*int64(len(k.metric)+len(k.labels)) }

func (c *cache) newID() uint32 {
	if n := len(c.mu.free); n > 0 {
		id := c.mu.free[n-1]
		c.mu.free = c.mu.free[:n-1]
		return id
	}
	c.mu.ids++
	return c.mu.ids - 1
}

// release gives up the series of a block. The caller has the lock.
func (c *cache) release(b *block) {
	for _, r := range b.runs {
		r.series.refs--
		if r.series.refs == 0 {
			r.series.next = nil // no chain of what is forgotten
			delete(c.mu.series, r.series.seriesKey)
			c.mu.free = append(c.mu.free, r.series.id)
			c.mu.bytes -= r.series.bytes()
		}
	}
}
