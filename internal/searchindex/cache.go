package searchindex

import (
	"container/list"
	"context"
	"sync"
)

// DefaultCacheBytes is how much memory a Cache takes at most.
const DefaultCacheBytes = 64 << 20

// Cache keeps opened indexes and the filters of columns that were read, those that were used last, in memory. An object never changes under
// its key. A Cache is safe for concurrent use.
type Cache struct {
	maxBytes int64

	mu struct {
		sync.Mutex
		bytes int64
		held  map[cacheKey]*list.Element
		used  *list.List // of cached, the last used first
	}
}

// cacheKey names the filters of a column of an index object, or the opened index where there is no column.
type cacheKey struct {
	object, column string
	whole          bool
}

type cached struct {
	key   cacheKey
	index *Index
	block []byte
	bytes int64
}

// NewCache returns an empty cache of at most so many bytes; 0 = DefaultCacheBytes.
func NewCache(maxBytes int64) *Cache {
	if maxBytes == 0 {
		maxBytes = DefaultCacheBytes
	}
	c := &Cache{maxBytes: maxBytes}
	c.mu.held, c.mu.used = make(map[cacheKey]*list.Element), list.New()
	return c
}

// Open returns the index of an object, as the function Open does, unless the cache has it. An index for another file is ErrStale.
func (c *Cache) Open(ctx context.Context, object string, size int64, id Identity, read ReadRange) (*Index, error) {
	key := cacheKey{object: object, whole: true}
	if x := c.get(key); x != nil {
		if x.index.id != id {
			return nil, ErrStale
		}
		return x.index, nil
	}
	index, err := Open(ctx, read, size, id)
	if err != nil {
		return nil, err
	}
	index.cache, index.object = c, object
	c.put(&cached{key: key, index: index, bytes: index.memory()})
	return index, nil
}

func (c *Cache) get(key cacheKey) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.mu.held[key]
	if !ok {
		return nil
	}
	c.mu.used.MoveToFront(e)
	return e.Value.(*cached) //nolint:forcetypeassert // nothing else is put in
}

func (c *Cache) put(x *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const perEntry = 256
	x.bytes += perEntry + int64(len(x.key.object)+len(x.key.column))
	if _, ok := c.mu.held[x.key]; ok || x.bytes > c.maxBytes/4 {
		return
	}
	c.mu.held[x.key] = c.mu.used.PushFront(x)
	c.mu.bytes += x.bytes
	for c.mu.bytes > c.maxBytes {
		last := c.mu.used.Remove(c.mu.used.Back()).(*cached) //nolint:forcetypeassert // nothing else is put in
		delete(c.mu.held, last.key)
		c.mu.bytes -= last.bytes
	}
}

// memory is about how many bytes an opened index takes, without filters.
func (x *Index) memory() int64 {
	const perColumn = 128
	return int64(len(x.columns)) * (perColumn + 4*int64(x.groups))
}
