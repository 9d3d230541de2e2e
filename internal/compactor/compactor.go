package compactor

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/cluster/work"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/sqlplan"
	"github.com/millstream/millstream/internal/tenant"
)

// Defaults of Options.
const (
	DefaultInterval      = time.Minute
	DefaultDeletionGrace = time.Hour
	DefaultOrphanGrace   = 24 * time.Hour
	DefaultTargetSize    = 256 << 20
	sweepEvery           = time.Hour
	mergeLevel           = 3 // of zstd: merged files are read often and written once
	batchSize            = 500
)

// Options are the settings of the role.
type Options struct {
	Interval      time.Duration // between rounds; default 1 min
	DeletionGrace time.Duration // from the retirement of a segment to the deletion of its object; default 1 h
	OrphanGrace   time.Duration // age at which an object without a segment is deleted; default 24 h
	// TargetSize is the size in bytes up to which files are merged; default 256 MiB.
	TargetSize int64
	// StagingDir takes merged files between their writing and their upload.
	StagingDir string
	// Retention is the age at which rows of an org expire, 0 = never. Nil: never.
	Retention func(org tenant.ID) time.Duration
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
}

// Division says which units of a kind of work are this node's: work.Division, or nil for a process that is alone.
type Division interface {
	Round(kind string) *work.Round
}

// Deps are the collaborators.
type Deps struct {
	Catalog    Catalog
	Division   Division // nil: everything is this node's
	Objects    objstore.Store
	Files      Files
	Clock      clock.Clock
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Compactor is the role.
type Compactor struct {
	opts     Options
	deps     Deps
	expired  prometheus.Counter
	deleted  prometheus.Counter
	orphans  prometheus.Counter
	failures prometheus.Counter

	merged, unreadable prometheus.Counter

	broken map[catalog.SegmentID]struct{} // segments that could not be read; used by Compact alone
}

// New returns a Compactor that has done nothing yet.
func New(opts Options, deps Deps) *Compactor {
	if opts.Interval <= 0 {
		opts.Interval = DefaultInterval
	}
	if opts.DeletionGrace <= 0 {
		opts.DeletionGrace = DefaultDeletionGrace
	}
	if opts.TargetSize <= 0 {
		opts.TargetSize = DefaultTargetSize
	}
	if opts.OrphanGrace <= 0 {
		opts.OrphanGrace = DefaultOrphanGrace
	}
	if opts.Retention == nil {
		opts.Retention = func(tenant.ID) time.Duration { return 0 }
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	c := &Compactor{
		opts: opts, deps: deps,
		expired:    counter("millstream_compactor_expired_segments_total", "Segments retired because all their rows had expired."),
		deleted:    counter("millstream_compactor_deleted_objects_total", "Objects of retired segments that were deleted."),
		orphans:    counter("millstream_compactor_orphan_objects_total", "Objects without a segment that were deleted."),
		merged:     counter("millstream_compactor_merged_segments_total", "Segments that were merged into larger ones."),
		unreadable: counter("millstream_compactor_unreadable_segments_total", "Segments that could not be merged because they are damaged."),
		broken:     make(map[catalog.SegmentID]struct{}),
		failures:   counter("millstream_compactor_failures_total", "Rounds with a failure; the next round tries again."),
	}
	if deps.Registerer != nil {
		deps.Registerer.MustRegister(c.expired, c.deleted, c.orphans, c.failures, c.merged, c.unreadable)
	}
	return c
}

// Run works round by round until ctx ends.
func (c *Compactor) Run(ctx context.Context) error {
	var swept time.Time
	for {
		errs := []error{c.Expire(ctx), c.Compact(ctx), c.Delete(ctx)}
		if now := c.deps.Clock.Now(); now.Sub(swept) >= sweepEvery {
			errs = append(errs, c.Sweep(ctx))
			swept = now
		}
		if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
			c.failures.Inc()
			c.deps.Logger.Warn("storage round incomplete", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.deps.Clock.After(c.opts.Interval):
		}
	}
}

// units is one pass over the units of a kind of work.
type units struct{ round *work.Round }

func (c *Compactor) units(kind string) units {
	if c.deps.Division == nil {
		return units{}
	}
	return units{c.deps.Division.Round(kind)}
}

// owns reports whether a unit is this node's.
func (u units) owns(unit string) bool { return u.round == nil || u.round.Owns(unit) }

// done shows in the metrics how many units were this node's.
func (u units) done() {
	if u.round != nil {
		u.round.Done()
	}
}

// unitOf names a dataset in the division of work.
func unitOf(d catalog.Dataset) string { return strconv.FormatInt(int64(d.ID), 10) }

// Expire retires what retention no longer keeps. Every node does it for all datasets: a repetition changes nothing.
func (c *Compactor) Expire(ctx context.Context) error {
	datasets, err := c.deps.Catalog.Datasets(ctx, "")
	if err != nil {
		return err
	}
	databases := make(map[tenant.ID][]catalog.Database)
	var errs []error
	for _, d := range datasets {
		if _, ok := databases[d.Org]; !ok {
			if databases[d.Org], err = c.deps.Catalog.Databases(ctx, d.Org); err != nil {
				return err
			}
		}
		keep := c.retention(d, databases[d.Org])
		if keep <= 0 {
			continue
		}
		n, err := c.deps.Catalog.Expire(ctx, d.ID, c.deps.Clock.Now().Add(-keep))
		errs = append(errs, err)
		if n > 0 {
			c.expired.Add(float64(n))
			c.deps.Logger.Info("segments expired", "org", d.Org, "database", d.Database, "stream", d.Name, "segments", n, "retention", keep)
		}
	}
	return errors.Join(errs...)
}

// retention returns the shortest retention that applies to a dataset, 0 when none does.
func (c *Compactor) retention(d catalog.Dataset, databases []catalog.Database) time.Duration {
	keep := c.opts.Retention(d.Org)
	shorten := func(options map[string]string) {
		v, err := sqlplan.ParseRetention(options[sqlplan.OptionRetention])
		if err == nil && (keep <= 0 || v < keep) {
			keep = v
		}
	}
	shorten(d.Options)
	for _, db := range databases {
		if db.Name == d.Database {
			shorten(db.Options)
		}
	}
	return keep
}

// Delete removes the objects of segments that were retired long enough ago, then their rows.
func (c *Compactor) Delete(ctx context.Context) error {
	before := c.deps.Clock.Now().Add(-c.opts.DeletionGrace)
	for {
		segments, err := c.deps.Catalog.Retired(ctx, before, batchSize)
		if err != nil || len(segments) == 0 {
			return err
		}
		ids := make([]catalog.SegmentID, 0, len(segments))
		for _, s := range segments {
			if err := c.deleteObjects(ctx, s); err != nil {
				return errors.Join(err, c.deps.Catalog.Forget(ctx, ids))
			}
			ids = append(ids, s.ID)
		}
		if err := c.deps.Catalog.Forget(ctx, ids); err != nil {
			return err
		}
	}
}

func (c *Compactor) deleteObjects(ctx context.Context, s catalog.Segment) error {
	if err := c.deps.Objects.Delete(ctx, s.Key); err != nil {
		return err
	}
	c.deleted.Inc()
	if s.IndexKey == "" {
		return nil
	}
	return c.deps.Objects.Delete(ctx, s.IndexKey)
}

// Sweep deletes objects that no segment has and that are older than the grace, in the folders of the orgs that are this node's.
func (c *Compactor) Sweep(ctx context.Context) error {
	units := c.units(work.StorageReconciler)
	if err := c.countOrgs(ctx, units); err != nil {
		return err
	}
	before := c.deps.Clock.Now().Add(-c.opts.OrphanGrace)
	owned := make(map[string]bool) // by org
	var keys []string
	var errs []error
	flush := func() {
		errs = append(errs, c.sweepBatch(ctx, keys))
		keys = keys[:0]
	}
	err := c.deps.Objects.List(ctx, "", func(e objstore.Entry) error {
		org, _, found := strings.Cut(e.Key, "/")
		if !found || !e.Modified.Before(before) {
			return nil
		}
		mine, known := owned[org]
		if !known {
			mine = c.units("").owns(org) // an org without a dataset counts for nobody, but may have left objects
			owned[org] = mine
		}
		if mine {
			keys = append(keys, e.Key)
		}
		if len(keys) >= batchSize {
			flush()
		}
		return nil
	})
	flush()
	return errors.Join(append(errs, err)...)
}

// countOrgs shows how many orgs with datasets are this node's.
func (c *Compactor) countOrgs(ctx context.Context, units units) error {
	datasets, err := c.deps.Catalog.Datasets(ctx, "")
	if err != nil {
		return err
	}
	seen := make(map[tenant.ID]bool)
	for _, d := range datasets {
		if !seen[d.Org] {
			seen[d.Org] = true
			units.owns(string(d.Org))
		}
	}
	units.done()
	return nil
}

func (c *Compactor) sweepBatch(ctx context.Context, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	known, err := c.deps.Catalog.KnownObjects(ctx, keys)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if known[key] {
			continue
		}
		if err := c.deps.Objects.Delete(ctx, key); err != nil {
			return err
		}
		c.orphans.Inc()
		c.deps.Logger.Info("orphan object deleted", "key", key)
	}
	return nil
}
