package app

import (
	"context"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/compactor"
	"github.com/millstream/millstream/internal/config"
	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/filecache"
	"github.com/millstream/millstream/internal/ingest"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/lifecycle"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/querier"
	"github.com/millstream/millstream/internal/searchindex"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wal"
)

// standalone is every role in one process.
//
//	listeners ─► ingress.Front ─► ingest ─► objects, catalog
//	         └─► querier ─► ingest (fresh rows), catalog, filecache, duck
//	             compactor ─► catalog, objects
type standalone struct {
	*platform
	ingest  *ingest.Ingest
	pool    *duck.Pool
	files   *filecache.Cache
	querier *querier.Querier
	serving atomic.Bool // false once a stop was asked for
}

func newStandalone(c *config.Config, logger *slog.Logger) *standalone {
	s := &standalone{platform: newPlatform(c, logger)}
	s.serving.Store(true)
	return s
}

func (s *standalone) component(name string) *slog.Logger { return s.logger.With("component", name) }

// addStages puts the parts in the order in which they start.
func (s *standalone) addStages(g *lifecycle.Group) {
	l := &listeners{standalone: s}
	g.Add(s.stage())
	g.Add(lifecycle.Stage{Name: "engine", Start: s.startEngine, Stop: s.stopEngine})
	g.Add(lifecycle.Stage{Name: "listeners", Start: l.start, Run: l.run, Stop: l.close})
	g.Add(lifecycle.Stage{
		Name:  "ingest",
		Start: func(ctx context.Context) error { return s.ingest.Start(ctx) },
		Run:   func(ctx context.Context) error { return s.ingest.Run(ctx) },
		Stop:  func(ctx context.Context) error { return s.ingest.Close(ctx) },
	})
	g.Add(lifecycle.Stage{Name: "compactor", Run: s.compactor})
	g.Add(lifecycle.Stage{Name: "requests", Start: l.announce, Stop: l.drain})
}

// startEngine makes the parts that wait for nothing.
func (s *standalone) startEngine(context.Context) error {
	c := s.config
	var err error
	s.files, err = filecache.New(filecache.Options{Dir: c.Cache.Dir, MaxBytes: c.Cache.MaxSize}, s.objects, s.metrics)
	if err != nil {
		return err
	}
	s.pool, err = duck.NewPool(duck.Options{
		Concurrency: c.Querier.Concurrency, WarmInstances: c.Querier.WarmInstances, MemoryLimit: c.Querier.MemoryLimit,
		TempDir: filepath.Join(s.tempDir(), "engine"), TempMaxSize: c.Querier.TempMaxSize,
		Threads: runtime.GOMAXPROCS(0), DataDirs: s.dataDirs,
	}, s.component("engine"), s.metrics)
	if err != nil {
		return err
	}
	s.ingest = ingest.New(ingest.Options{
		Node: c.Node.ID, StagingDir: s.stagingDir(), FlushInterval: c.Intake.FlushInterval, BufferMaxSize: c.Intake.BufferMaxSize,
		BufferMemoryMax: c.Intake.BufferMemoryMax, MaxColumns: c.Limits.MaxColumns,
		WAL: wal.Options{Dir: c.WAL.Dir, SegmentSize: c.WAL.SegmentSize, Sync: wal.SyncMode(c.WAL.Sync), BatchMaxDelay: c.WAL.BatchMaxDelay},
	}, ingest.Deps{Catalog: s.catalog, Objects: s.objects, Logger: s.component("ingest"), Registerer: s.metrics})
	s.querier, err = querier.New(querier.Options{Timeout: s.queryTimeout(), MaxScanRows: c.Querier.MaxScanRows}, querier.Deps{
		Catalog: dropNotifier{s.catalog, s.ingest}, Buffers: s.ingest, Files: s.files, Pool: s.pool,
		Indexes: indexes{s.objects}, Retention: s.retention,
		Logger: s.component("querier"), Registerer: s.metrics,
	})
	return err
}

func (s *standalone) stopEngine(context.Context) error {
	if s.pool == nil {
		return nil
	}
	return s.pool.Close() //nolint:contextcheck // closing takes no context
}

// dataDirs are the folders that an org's statements may read: its own below the cache and below a local object store.
func (s *standalone) dataDirs(org tenant.ID) []string {
	dirs := []string{s.files.Dir(org)}
	if dir, ok := s.objects.LocalPath(string(org)); ok {
		dirs = append(dirs, dir)
	}
	return dirs
}

// queryTimeout is the shorter one of the process's and the tenant's time of a query; the tenant's may be off.
func (s *standalone) queryTimeout() time.Duration {
	timeout := s.config.Querier.Timeout
	if tenant := s.config.Limits.QueryTimeout; tenant > 0 && tenant < timeout {
		timeout = tenant
	}
	return timeout
}

// retention is the age at which rows of an org expire by configuration; 0 = never.
func (s *standalone) retention(tenant.ID) time.Duration {
	keep := s.config.Limits.RetentionPeriod
	if days := s.config.Compactor.Retention; days > 0 && (keep == 0 || days < keep) {
		keep = days
	}
	return keep
}

func (s *standalone) compactor(ctx context.Context) error {
	return compactor.New(compactor.Options{
		Interval: s.config.Compactor.Interval, DeletionGrace: s.config.Compactor.DeletionGrace, Retention: s.retention,
		TargetSize: s.config.Compactor.TargetSize, StagingDir: s.stagingDir(),
	}, compactor.Deps{
		Catalog: s.catalog, Objects: s.objects, Files: s.files, Clock: clock.System{}, Logger: s.component("compactor"), Registerer: s.metrics,
	}).Run(ctx)
}

// front returns what takes client writes.
func (s *standalone) front() *ingress.Front {
	l := s.config.Limits
	return ingress.NewFront(s.ingest, ingress.Limits{
		MaxBodyBytes: s.config.Intake.MaxBodySize, MaxLineSize: int(l.MaxLineSize), MaxColumns: l.MaxColumns,
		CreationGracePeriod: l.CreationGracePeriod, RejectOldSamples: l.RejectOldSamples,
	}, clock.System{}, s.metrics)
}

// Ready implements httpapi.Status.
func (s *standalone) Ready() error {
	if !s.serving.Load() {
		return fault.New(fault.Unavailable, "this node is draining")
	}
	return s.ingest.Ready()
}

// Report implements httpapi.Status.
func (s *standalone) Report() map[string]any {
	report := map[string]any{"node": s.config.Node.ID, "version": version}
	if p := s.ingest.Progress(); s.ingest.Ready() != nil && p.TotalBytes > 0 {
		report["replay"] = map[string]int64{"done_bytes": p.DoneBytes, "total_bytes": p.TotalBytes}
	}
	if s.config.WAL.Sync == config.SyncNone {
		report["warnings"] = []string{"wal.sync is none: acknowledged rows do not survive a power cut"}
	}
	return report
}

// indexes opens the search indexes in the object store.
type indexes struct{ objects objstore.Reader }

// OpenIndex implements querier.Indexes.
func (x indexes) OpenIndex(ctx context.Context, s catalog.Segment) (*searchindex.Index, error) {
	read := func(ctx context.Context, off int64, buf []byte) error {
		return objstore.ReadRange(ctx, x.objects, s.IndexKey, off, buf)
	}
	return searchindex.Open(ctx, read, s.Index, searchindex.Identity{Key: s.Key, Checksum: s.Checksum})
}

// dropNotifier makes this node's writers ask the catalog again after a database was dropped, so that none of them writes to the
// dropped one when another of its name is made.
type dropNotifier struct {
	catalog.Catalog
	ingest *ingest.Ingest
}

// DropDatabase implements catalog.Names.
func (d dropNotifier) DropDatabase(ctx context.Context, org tenant.ID, name string) error {
	err := d.Catalog.DropDatabase(ctx, org, name)
	d.ingest.ForgetDatabase(org, name)
	return err
}
