package compactor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/cluster/work"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/tenant"
)

// Defaults of Options.
const (
	DefaultInterval            = time.Minute
	DefaultDeletionGrace       = time.Hour
	DefaultOrphanGrace         = 24 * time.Hour
	DefaultTargetSize          = 256 << 20
	DefaultMaxConcurrentGroups = 4
	DefaultMemoryLimit         = 256 << 20
)

const (
	mergeLevel = 3 // of zstd: merged files are read often and written once
	batchSize  = 500
	// catalogAttempts is how often a step of the catalog whose outcome is unknown is asked again.
	catalogAttempts = 5
	// maxUploadAge bounds the time from the first byte of an upload to its registration. The reconciler deletes unregistered objects
	// after twice that or more, so one that is about to be registered is never deleted.
	maxUploadAge = 30 * time.Minute
)

// Options are the settings of the role.
type Options struct {
	Interval      time.Duration // between rounds; default 1 min
	DeletionGrace time.Duration // from the retirement of a segment to the deletion of its object; default 1 h
	OrphanGrace   time.Duration // age at which an object without a segment is deleted; default 24 h
	// TargetSize is the size in bytes up to which files are merged; default 256 MiB.
	TargetSize int64
	// MaxConcurrentGroups is how many merges of different datasets run at once; default 4.
	MaxConcurrentGroups int
	// MemoryLimit bounds the bytes that all running merges take together; default 256 MiB. A merge that needs more takes fewer files at
	// once; one of two files runs alone even above the limit.
	MemoryLimit int64
	// StagingDir takes merged files between their writing and their upload.
	StagingDir string
	// Retention is the age at which rows of an org expire, 0 = never. Nil: never.
	Retention func(org tenant.ID) time.Duration
}

func (o Options) withDefaults() Options {
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.DeletionGrace <= 0 {
		o.DeletionGrace = DefaultDeletionGrace
	}
	if o.TargetSize <= 0 {
		o.TargetSize = DefaultTargetSize
	}
	if o.OrphanGrace <= 0 {
		o.OrphanGrace = DefaultOrphanGrace
	}
	o.OrphanGrace = max(o.OrphanGrace, 2*maxUploadAge)
	if o.MaxConcurrentGroups <= 0 {
		o.MaxConcurrentGroups = DefaultMaxConcurrentGroups
	}
	if o.MemoryLimit <= 0 {
		o.MemoryLimit = DefaultMemoryLimit
	}
	if o.Retention == nil {
		o.Retention = func(tenant.ID) time.Duration { return 0 }
	}
	return o
}

// Catalog is what the role needs of the catalog.
type Catalog interface {
	Databases(ctx context.Context, org tenant.ID) ([]catalog.Database, error)
	Datasets(ctx context.Context, org tenant.ID) ([]catalog.Dataset, error)
	Expire(ctx context.Context, dataset catalog.DatasetID, before time.Time) (int, error)
	Retired(ctx context.Context, before time.Time, limit int) ([]catalog.Segment, error)
	Forget(ctx context.Context, ids []catalog.SegmentID) error
	KnownObjects(ctx context.Context, keys []string) (map[string]bool, error)
	Snapshot(ctx context.Context, q catalog.SnapshotQuery) (catalog.Snapshot, error)
	NextSegments(ctx context.Context, n int) (catalog.SegmentID, error)
	Replace(ctx context.Context, dataset catalog.DatasetID, old []catalog.SegmentID, added []catalog.Segment) error
	SetIndex(ctx context.Context, segment catalog.SegmentID, old, key string, size int64) error
}

// Files makes the data files of segments readable on this machine.
type Files interface {
	// Pin returns the path of a local file for each segment, in order. The files stay until release is called, once.
	Pin(ctx context.Context, segments []catalog.Segment) (paths []string, release func(), err error)
}

// Division says which units of a kind of work are this node's: work.Division, or nil for a process that is alone.
type Division interface {
	Round(kind string) *work.Round
}

// Deps are the collaborators.
type Deps struct {
	Catalog  Catalog
	Division Division // nil: everything is this node's
	Objects  objstore.Store
	Files    Files
	// Space returns the size of the file system that holds a folder and what is free of it, in bytes. Nil: merges do not ask.
	Space      func(dir string) (total, free int64, err error)
	Clock      clock.Clock
	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil: nothing is counted
}

// Compactor is the role. Its methods may be called concurrently.
type Compactor struct {
	opts    Options
	deps    Deps
	metrics *metrics
	memory  *semaphore.Weighted // bytes of running merges

	compaction, sealing, indexing passes

	mu struct {
		sync.Mutex
		broken   map[catalog.SegmentID]struct{} // files that could not be read since the last look of the reconciler
		suspects map[catalog.SegmentID]suspect  // segments whose index object is missing or damaged
		looked   map[tenant.ID]time.Time        // last look of the reconciler
		strays   time.Time                      // last look at folders of orgs without datasets
	}
}

// New returns a Compactor that has done nothing yet.
func New(opts Options, deps Deps) *Compactor {
	opts = opts.withDefaults()
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Compactor{opts: opts, deps: deps, metrics: newMetrics(deps.Registerer), memory: semaphore.NewWeighted(opts.MemoryLimit)}
	c.mu.broken = make(map[catalog.SegmentID]struct{})
	c.mu.suspects = make(map[catalog.SegmentID]suspect)
	c.mu.looked = make(map[tenant.ID]time.Time)
	return c
}

// Run works round by round until ctx ends.
func (c *Compactor) Run(ctx context.Context) error {
	for {
		c.round(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-c.deps.Clock.After(c.opts.Interval):
		}
	}
}

// round does every duty once. One that fails does not keep the others from their turn.
func (c *Compactor) round(ctx context.Context) {
	var errs []error
	for _, duty := range []func(context.Context) error{
		c.Expire, c.Compact, c.Seal, c.Delete, c.Reconcile, c.RebuildIndexes,
	} {
		if ctx.Err() != nil {
			return
		}
		errs = append(errs, duty(ctx))
	}
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
		c.metrics.failures.Inc()
		c.deps.Logger.Warn("storage round incomplete", "error", err)
	}
}
