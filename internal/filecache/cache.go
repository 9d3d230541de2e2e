package filecache

import (
	"container/list"
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/tenant"
)

// Options configure a Cache.
type Options struct {
	Dir      string // absolute; made when missing, and the cache's alone
	MaxBytes int64  // of all copies together
	MinFree  int64  // bytes that copies leave free on their file system; 0 = it may be full
	// Space returns the free bytes of the file system that a folder lies on. Nil, or an error: MinFree is not looked at.
	Space func(dir string) (total, free int64, err error)
	// Fetches is how many objects one plan fetches at a time, in its order; 0 = defaultFetches.
	Fetches int
}

const defaultFetches = 8

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
		await int64            // of bytes: not yet on the disk
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
	there bool          // on the disk, whole but for damage
	whole bool          // and checked by this process
	busy  chan struct{} // closed when the fetch under way ends; nil when there is none
}

// New opens the cache and takes over the copies that an earlier process left, dropping what is unfinished or too much.
func New(opts Options, objects objstore.Reader, reg prometheus.Registerer) (*Cache, error) {
	if !filepath.IsAbs(opts.Dir) || opts.MaxBytes <= 0 {
		return nil, fault.New(fault.Invalid, "file cache: an absolute directory and a positive size are needed")
	}
	if opts.Fetches <= 0 {
		opts.Fetches = defaultFetches
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
// store are fetched, several at a time in their order; more of them than the cache holds is fault.Invalid before anything is fetched, and
// fault.Unavailable where the file system has too little room. While other plans hold the space it waits for them or for ctx.
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
	if err := c.fillAll(ctx, remote, wanted); err != nil {
		c.unpin(remote)
		return nil, nil, err
	}
	return paths, func() { c.unpin(remote) }, nil
}

// fillAll makes pinned files whole, the first ones first.
func (c *Cache) fillAll(ctx context.Context, files []*file, segments []catalog.Segment) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.opts.Fetches)
	for i, f := range files {
		g.Go(func() error { return c.fill(ctx, f, segments[i]) })
	}
	return g.Wait()
}

// reserve pins all of the files or none, so that two plans never wait for each other's halves.
func (c *Cache) reserve(ctx context.Context, segments []catalog.Segment) ([]*file, error) {
	for {
		files, freed, err := c.tryReserve(segments)
		if freed == nil {
			return files, err
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryReserve returns a channel to wait for instead when there is no room until another plan ends.
func (c *Cache) tryReserve(segments []catalog.Segment) ([]*file, <-chan struct{}, error) {
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
	most := c.most()
	if kept := c.mu.bytes - evictable; kept+missing > most {
		if most < c.opts.MaxBytes && !c.pinned() {
			return nil, nil, fault.New(fault.Unavailable, "the statement needs %d bytes of data files that are not in the cache, and the disk "+
				"of cache.dir has room for %d beside the %d bytes that stay free (cache.min_free)", missing, max(0, most-kept), c.opts.MinFree)
		}
		return nil, c.mu.freed, nil
	}
	files := make([]*file, len(segments))
	for i, s := range segments {
		f := c.mu.files[s.Key]
		if f == nil {
			f = &file{key: s.Key, org: s.Org, path: c.path(s.Key), bytes: s.Bytes}
			c.mu.files[s.Key] = f
			c.mu.bytes += f.bytes
			c.mu.await += f.bytes
		}
		c.hold(f)
		files[i] = f
	}
	for c.mu.bytes > most {
		c.evict(fileOf(c.mu.idle.Front()))
	}
	c.metrics.bytes.Set(float64(c.mu.bytes))
	return files, nil, nil
}

// most returns how many bytes of copies there may be: MaxBytes, or fewer when the file system has not so much room.
func (c *Cache) most() int64 {
	if c.opts.Space == nil || c.opts.MinFree <= 0 {
		return c.opts.MaxBytes
	}
	_, free, err := c.opts.Space(c.opts.Dir)
	if err != nil {
		return c.opts.MaxBytes
	}
	return min(c.opts.MaxBytes, max(0, c.mu.bytes-c.mu.await+free-c.opts.MinFree))
}

// pinned reports whether a plan that holds files may end and give up room.
func (c *Cache) pinned() bool { return len(c.mu.files) > c.mu.idle.Len() }

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
	if !f.there {
		c.mu.await -= f.bytes
	}
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
