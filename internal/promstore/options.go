package promstore

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fresh"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/tenant"
)

// DefaultShareRows is Options.ShareRows unless it is set.
const DefaultShareRows = 400_000

// DefaultCacheBytes is Options.CacheBytes unless it is set.
const DefaultCacheBytes = 128 << 20

// DefaultBatchSamples is Options.BatchSamples unless it is set.
const DefaultBatchSamples = 500_000

// Options say how a query is divided.
type Options struct {
	// ShareRows is how many rows of a file are worth a processor of their own, default 400,000.
	ShareRows int64
	// CacheBytes bounds the decoded series and samples of files that are kept for the next query; default 128 MiB, below 0 = none.
	CacheBytes int64
	// BatchSamples is how many samples are loaded at a time where an answer is streamed; default 500,000.
	BatchSamples int64
}

func (o Options) withDefaults() Options {
	if o.ShareRows <= 0 {
		o.ShareRows = DefaultShareRows
	}
	if o.BatchSamples <= 0 {
		o.BatchSamples = DefaultBatchSamples
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	return o
}

// Catalog is what the store needs of the catalog.
type Catalog interface {
	Databases(ctx context.Context, org tenant.ID) ([]catalog.Database, error)
	Streams(ctx context.Context, org tenant.ID) ([]catalog.Stream, error)
	Snapshot(ctx context.Context, q catalog.SnapshotQuery) (catalog.Snapshot, error)
}

// Buffers reads the fresh rows of every writer epoch that may hold some. A writer that does not answer becomes a warning of the
// result. The caller owns the records of the result.
type Buffers interface {
	Snapshot(ctx context.Context, q fresh.Request) (fresh.Result, error)
}

// Files makes the data files of segments readable on this machine.
type Files interface {
	// Pin returns the path of a local, whole and checked file for each segment, in order. The files stay until release is called, once.
	Pin(ctx context.Context, segments []catalog.Segment) (paths []string, release func(), err error)
}

// Deps are the collaborators. All are required but those that say otherwise.
type Deps struct {
	Catalog Catalog
	Buffers Buffers
	Files   Files
	// Retention returns the age beyond which rows of an org are hidden, 0 = never. Options of a database or metric may be shorter. Nil
	// means no limit of the org.
	Retention func(org tenant.ID) time.Duration
	// Limits returns the limits of an org; it is asked once a query and once a selector. Nil: limits.Default.
	Limits     func(org tenant.ID) limits.Limits
	Clock      clock.Clock           // nil: the system's
	Logger     *slog.Logger          // nil: discard
	Registerer prometheus.Registerer // nil: no metrics
}

func (d Deps) withDefaults() Deps {
	if d.Retention == nil {
		d.Retention = func(tenant.ID) time.Duration { return 0 }
	}
	if d.Limits == nil {
		d.Limits = limits.Static(limits.Default())
	}
	if d.Clock == nil {
		d.Clock = clock.System{}
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}
