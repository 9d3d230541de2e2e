package querier

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/fresh"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/tenant"
)

// Options bound statements.
type Options struct {
	// Timeout is the time from a statement's arrival to its last row (querier.timeout_secs); 0 = no bound. The org's own may be shorter.
	Timeout time.Duration
	// MaxScanRows is the most rows that a statement may read after pruning (querier.max_scan_rows); 0 = no bound.
	MaxScanRows int64
	// FirstScanRows is about how many rows of segments are tried first when a filtered statement asks for the newest or oldest rows
	// only. Default 50,000.
	FirstScanRows int64
	// NoSearch leaves all reading and counting of segments to the engine (docs/adr/0015-row-search.md). For tests, which compare the
	// two ways.
	NoSearch bool
}

// Validate reports every fault of o at once.
func (o Options) Validate() error {
	var errs []error
	if o.Timeout < 0 {
		errs = append(errs, errors.New("timeout: must not be negative"))
	}
	if o.MaxScanRows < 0 {
		errs = append(errs, errors.New("max scan rows: must not be negative"))
	}
	return errors.Join(errs...)
}

// Deps are the collaborators. All are required but those that say otherwise.
type Deps struct {
	Catalog Catalog
	Buffers Buffers
	Files   Files
	Pool    *duck.Pool
	Indexes Indexes // nil: no search indexes
	// Retention returns the age beyond which rows of an org are hidden, 0 = never. Options of a database or stream may be shorter.
	// Nil means no limit of the org.
	Retention func(org tenant.ID) time.Duration
	// Changed is told of each statement that has changed a database or stream; nil = nobody is.
	Changed func(ctx context.Context, c catalog.Change)
	// Limits returns the limits of an org; it is asked once a statement. Nil: limits.Default.
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
	if d.Changed == nil {
		d.Changed = func(context.Context, catalog.Change) {}
	}
	if d.Clock == nil {
		d.Clock = clock.System{}
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	return d
}

// Catalog is the part of the catalog that statements need.
type Catalog interface {
	catalog.Names
	Snapshot(ctx context.Context, q catalog.SnapshotQuery) (catalog.Snapshot, error)
}

// Buffers reads the fresh rows of every writer epoch that may hold some. A writer that does not answer becomes a warning of the
// result; an error means that nothing is known of the writers. The caller owns the records of the result.
type Buffers interface {
	Snapshot(ctx context.Context, q fresh.Request) (fresh.Result, error)
}

// Files makes the data files of segments readable on this machine.
type Files interface {
	// Pin returns the path of a local, whole and checked file for each segment, in order. The files stay until release is called, which
	// is done once. It fails before it fetches anything when the segments cannot be held at once.
	Pin(ctx context.Context, segments []catalog.Segment) (paths []string, release func(), err error)
}
