package filecache

import (
	"container/list"
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/tenant"
)

// Options configure a Cache.
type Options struct {
	Dir      string // absolute; made when missing, and the cache's alone
	MaxBytes int64  // of all copies together
}

// Cache holds copies of objects.
type Cache struct {
	opts    Options
	objects objstore.Reader
	metrics *metrics

	mu struct {
		sync.Mutex
		files map[string]*file // by object key
		idle  *list.List       // of *file, not pinned, the least recently used first
		bytes int64            // whole or being fetched
		freed chan struct{}    // closed and replaced when something becomes idle or goes
	}
}

// file is one copy.
type file struct {
	key   string
	org   tenant.ID
	path  string
	bytes int64
	pins  int           // of plans; a file with pins is not in idle
	place *list.Element // in idle
	whole bool          // and checked by this process
	busy  chan struct{} // closed when the fetch under way ends; nil when there is none
}

// New opens the cache and takes over the copies that an earlier process left, dropping what is unfinished or too much.
func New(opts Options, objects objstore.Reader, reg prometheus.Registerer) (*Cache, error) {
	if !filepath.IsAbs(opts.Dir) || opts.MaxBytes <= 0 {
		return nil, fault.New(fault.Invalid, "file cache: an absolute directory and a positive size are needed")
	}
	c := &Cache{opts: opts, objects: objects, metrics: newMetrics(reg)}
	c.mu.files, c.mu.idle, c.mu.freed = make(map[string]*file), list.New(), make(chan struct{})
	if err := c.adopt(); err != nil {
		return nil, fmt.Errorf("open file cache: %w", err)
	}
	return c, nil
}

// Dir returns the folder that holds an org's copies and nothing else.
func (c *Cache) Dir(org tenant.ID) string { return filepath.Join(c.opts.Dir, string(org)) }

// Pin returns a local file for each segment, in order, and keeps them until release is called, once. Segments that are only in a remote
// store are fetched; more of them than the cache holds is fault.Invalid before anything is fetched. While other plans hold the space
// it waits for them or for ctx.
func (c *Cache) Pin(ctx context.Context, segments []catalog.Segment) (paths []string, release func(), err error) {
	paths = make([]string, len(segments))
	var remote []*file
	var need int64
	var wanted []catalog.Segment
	seen := make(map[string]bool)
	for i, s := range segments {
		if path, ok := c.objects.LocalPath(s.Key); ok {
			paths[i] = path
			continue
		}
		paths[i] = c.path(s.Key)
		if !seen[s.Key] {
			seen[s.Key] = true
			need += s.Bytes
			wanted = append(wanted, s)
		}
	}
	if need > c.opts.MaxBytes {
		return nil, nil, fault.New(fault.Invalid, "the statement needs %d bytes of data files, more than the cache holds (%d, cache.max_size); "+
			"ask for a shorter time range", need, c.opts.MaxBytes)
	}
	if remote, err = c.reserve(ctx, wanted); err != nil {
		return nil, nil, err
	}
	for i, f := range remote {
		if err := c.fill(ctx, f, wanted[i]); err != nil {
			c.unpin(remote)
			return nil, nil, err
		}
	}
	return paths, func() { c.unpin(remote) }, nil
}

// reserve pins all of the files or none, so that two plans never wait for each other's halves.
func (c *Cache) reserve(ctx context.Context, segments []catalog.Segment) ([]*file, error) {
	for {
		files, freed := c.tryReserve(segments)
		if freed == nil {
			return files, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryReserve returns a channel to wait for instead when there is no room.
func (c *Cache) tryReserve(segments []catalog.Segment) ([]*file, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var missing, evictable int64
	for _, s := range segments {
		f := c.mu.files[s.Key]
		if f != nil && f.place != nil && f.bytes != s.Bytes { // not what the catalog means
			c.evict(f)
			f = nil
		}
		if f == nil {
			missing += s.Bytes
		} else if f.place != nil {
			evictable -= f.bytes // it is wanted itself
		}
	}
	for e := c.mu.idle.Front(); e != nil; e = e.Next() {
		evictable += fileOf(e).bytes
	}
	if c.mu.bytes-evictable+missing > c.opts.MaxBytes {
		return nil, c.mu.freed
	}
	files := make([]*file, len(segments))
	for i, s := range segments {
		f := c.mu.files[s.Key]
		if f == nil {
			f = &file{key: s.Key, org: s.Org, path: c.path(s.Key), bytes: s.Bytes}
			c.mu.files[s.Key] = f
			c.mu.bytes += f.bytes
		}
		c.hold(f)
		files[i] = f
	}
	for c.mu.bytes > c.opts.MaxBytes {
		c.evict(fileOf(c.mu.idle.Front()))
	}
	c.metrics.bytes.Set(float64(c.mu.bytes))
	return files, nil
}

func fileOf(e *list.Element) *file { return e.Value.(*file) } //nolint:forcetypeassert // the list holds nothing else

// hold pins a file. The caller has the lock, as in all methods below.
func (c *Cache) hold(f *file) {
	f.pins++
	if f.place != nil {
		c.mu.idle.Remove(f.place)
		f.place = nil
	}
}

// evict drops an idle file. It is removed under the lock, so that nobody fetches it anew meanwhile.
func (c *Cache) evict(f *file) {
	c.mu.idle.Remove(f.place)
	c.forget(f)
	c.metrics.evictions.Inc()
	removeFile(f.path)
}

func (c *Cache) forget(f *file) {
	delete(c.mu.files, f.key)
	c.mu.bytes -= f.bytes
}

// unpin gives up the pins of a plan.
func (c *Cache) unpin(files []*file) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range files {
		f.pins--
		switch {
		case f.pins > 0:
		case f.whole:
			f.place = c.mu.idle.PushBack(f)
		default:
			c.forget(f)
			removeFile(f.path)
		}
	}
	c.metrics.bytes.Set(float64(c.mu.bytes))
	close(c.mu.freed)
	c.mu.freed = make(chan struct{})
}
