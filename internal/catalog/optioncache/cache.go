package optioncache

import (
	"context"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/tenant"
)

// Source is the catalog.
type Source interface {
	DatabasesWithOptions(ctx context.Context) ([]catalog.Database, error)
}

// Options set the pace.
type Options struct {
	Every   time.Duration // pause between two readings, default 500 ms
	Timeout time.Duration // of one reading, default 5 s
	// Changed is called after each reading that differs from the one before. It must not block. nil: nobody is told.
	Changed func()
	Clock   clock.Clock
	Logger  *slog.Logger // nil: discard
}

// Cache is the options of all databases. Its methods are safe for concurrent use.
type Cache struct {
	source Source
	o      Options
	now    atomic.Pointer[map[key]catalog.Database]
	wake   chan struct{}
	failed bool // the last reading, of Run alone
}

type key struct {
	org  tenant.ID
	name string
}

// New returns a cache that knows no options yet.
func New(source Source, o Options) *Cache {
	if o.Every <= 0 {
		o.Every = 500 * time.Millisecond
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Cache{source: source, o: o, wake: make(chan struct{}, 1)}
	c.now.Store(&map[key]catalog.Database{})
	return c
}

// Database returns the database with its options, as they were last read; one without options, or that does not exist, has the ID 0 and
// none. The map belongs to the cache.
func (c *Cache) Database(org tenant.ID, name string) catalog.Database {
	return (*c.now.Load())[key{org, name}]
}

// Soon asks for a reading now: somebody has changed options through this process.
func (c *Cache) Soon() {
	select {
	case c.wake <- struct{}{}:
	default: // asked for already
	}
}

// Load reads the options once.
func (c *Cache) Load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	list, err := c.source.DatabasesWithOptions(ctx)
	if err != nil {
		return err
	}
	next := make(map[key]catalog.Database, len(list))
	for _, d := range list {
		next[key{d.Org, d.Name}] = d
	}
	last := c.now.Swap(&next)
	if c.o.Changed != nil && !maps.EqualFunc(*last, next, same) {
		c.o.Changed()
	}
	return nil
}

func same(a, b catalog.Database) bool { return a.ID == b.ID && maps.Equal(a.Options, b.Options) }

// Run reads the options again and again until ctx ends.
func (c *Cache) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case <-c.o.Clock.After(c.o.Every):
		}
		err := c.Load(ctx)
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case err != nil && !c.failed:
			c.o.Logger.WarnContext(ctx, "options of databases not read; going on with the last ones", "error", err)
		case err == nil && c.failed:
			c.o.Logger.InfoContext(ctx, "options of databases read again")
		}
		c.failed = err != nil
	}
}
