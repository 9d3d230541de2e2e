package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/compactor"
	"github.com/millstream/millstream/internal/config"
	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/filecache"
	"github.com/millstream/millstream/internal/ingest"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/lifecycle"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/overrides"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/querier"
	"github.com/millstream/millstream/internal/querier/holders"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/router"
	"github.com/millstream/millstream/internal/searchindex"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wal"
)

// node is a process: the parts that its roles need.
//
//	listeners ─► ingress.Front ─► router ─► intake nodes        (standalone: ─► ingest)
//	         └─► frontend, fairqueue ─► router ─► queriers      (standalone: ─► querier)
//	peers    ─► ingest ─► objects, catalog                      intake
//	         └► querier ─► holders of fresh rows, catalog, filecache, duck
//	             compactor ─► catalog, objects
type node struct {
	*platform
	identity
	turns
	ingest      *ingest.Ingest   // intake
	pool        *duck.Pool       // querier
	files       *filecache.Cache // querier, compactor
	querier     *querier.Querier // querier
	fresh       querier.Buffers  // querier
	promql      *promapi.API     // querier
	router      *router.Router   // router
	writeLimits writeLimits      // whoever takes client writes
	serving     atomic.Bool      // false once a stop or a drain was asked for
	closing     atomic.Bool      // true once other nodes are refused
	asked       asked            // statements of other nodes

	overrides *overrides.File // nil: no org has limits of its own
	tokens    *auth.Verifier  // where clients are answered, in auth.mode token
	out       io.Writer       // for what only the operator may read
}

func newNode(c *config.Config, logger *slog.Logger, out io.Writer) *node {
	n := &node{platform: newPlatform(c, logger), out: out}
	n.writeLimits.bytes = quota.NewBytes(clock.System{}, ingress.RateOf(n.limits.For))
	n.serving.Store(true)
	return n
}

func (n *node) component(name string) *slog.Logger { return n.logger.With("component", name) }

// has reports whether the process has a role, by name or as standalone.
func (n *node) has(r config.Role) bool { return n.config.Node.Has(r) }

// hasAPI reports whether the process answers clients with the full API.
func (n *node) hasAPI() bool { return n.has(config.Router) }

// takesWrites reports whether clients write to the process: over the full API, or to an intake node over OTLP/gRPC.
func (n *node) takesWrites() bool { return n.hasAPI() || n.has(config.IntakeRole) }

// addStages puts the parts in the order in which they start.
func (n *node) addStages(g *lifecycle.Group) {
	l := &listeners{node: n}
	g.Add(n.stage())
	n.addOverrides(g)
	if n.config.Auth.Mode == config.AuthToken && n.takesWrites() {
		g.Add(lifecycle.Stage{Name: "tokens", Start: n.startTokens, Run: n.runTokens, Stop: n.stopTokens})
	}
	g.Add(lifecycle.Stage{Name: "sockets", Start: l.open, Stop: l.close})
	g.Add(lifecycle.Stage{Name: "identity", Start: n.draw(l.peerAddress), Stop: n.giveBack})
	g.Add(lifecycle.Stage{Name: "engine", Start: n.startEngine, Stop: n.stopEngine})
	if n.takesWrites() {
		g.Add(lifecycle.Stage{Name: "write limits", Start: n.startWriteLimits, Run: n.runWriteLimits, Stop: n.stopWriteLimits})
	}
	g.Add(lifecycle.Stage{Name: "listeners", Start: l.start, Run: l.run})
	g.Add(lifecycle.Stage{Name: "membership", Start: n.claim, Run: n.member, Stop: n.leave})
	if n.has(config.IntakeRole) {
		g.Add(lifecycle.Stage{
			Name:  "ingest",
			Start: func(ctx context.Context) error { return n.ingest.Start(ctx) },
			Run:   func(ctx context.Context) error { return n.ingest.Run(ctx) },
			Stop:  func(ctx context.Context) error { return n.ingest.Close(ctx) },
		})
	}
	if n.has(config.CompactRole) {
		g.Add(lifecycle.Stage{Name: "compactor", Run: n.compactor})
	}
	g.Add(lifecycle.Stage{Name: "requests", Start: l.announce, Run: n.obeyDrain, Stop: l.drain})
}

// startEngine makes the parts that wait for nothing.
func (n *node) startEngine(context.Context) error {
	if n.has(config.IntakeRole) && n.ingest == nil {
		n.makeIngest()
	}
	if n.has(config.Router) && !n.config.Node.IsStandalone() {
		n.router = router.New(router.Deps{
			Members: n.members, Nodes: others{n}, ForwardBytes: n.config.Router.ForwardBytes, Logger: n.component("router"), Registerer: n.metrics,
		})
	}
	if err := n.startReading(); err != nil {
		return err
	}
	if n.hasAPI() {
		n.makeFrontend()
	}
	return nil
}

// startReading makes what reads files.
func (n *node) startReading() error {
	if !n.has(config.QueryRole) && !n.has(config.CompactRole) {
		return nil
	}
	c := n.config
	var err error
	n.files, err = filecache.New(filecache.Options{
		Dir: c.Cache.Dir, MaxBytes: c.Cache.MaxSize, MinFree: c.Cache.MinFree, Space: wal.OS{}.Space,
	}, n.objects, n.metrics)
	if err != nil || !n.has(config.QueryRole) {
		return err
	}
	return n.makeQuerier()
}

func (n *node) makeIngest() {
	c := n.config
	n.ingest = ingest.New(ingest.Options{
		Node: c.Node.ID, Address: n.self.Address, StagingDir: n.stagingDir(),
		FlushInterval: c.Intake.FlushInterval, BufferMaxSize: c.Intake.BufferMaxSize,
		BufferMemoryMax: c.Intake.BufferMemoryMax, MaxColumns: func(org tenant.ID) int { return n.limits.For(org).MaxColumns },
		MaxStreams: func(org tenant.ID) int { return n.limits.For(org).MaxGlobalStreams },
		WAL: wal.Options{
			Dir: c.WAL.Dir, SegmentSize: c.WAL.SegmentSize, Sync: wal.SyncMode(c.WAL.Sync), BatchMaxDelay: c.WAL.BatchMaxDelay,
		},
	}, ingest.Deps{Catalog: n.catalog, Objects: n.objects, Logger: n.component("ingest"), Registerer: n.metrics})
}

func (n *node) makeQuerier() error {
	c := n.config
	var err error
	n.pool, err = duck.NewPool(duck.Options{
		Concurrency: c.Querier.Concurrency, WarmInstances: c.Querier.WarmInstances, MemoryLimit: c.Querier.MemoryLimit,
		TempDir: filepath.Join(n.tempDir(), "engine"), TempMaxSize: c.Querier.TempMaxSize,
		Threads: runtime.GOMAXPROCS(0), DataDirs: n.dataDirs,
	}, n.component("engine"), n.metrics)
	if err != nil {
		return err
	}
	n.fresh = n.buffers()
	n.querier, err = querier.New(querier.Options{Timeout: c.Querier.Timeout, MaxScanRows: c.Querier.MaxScanRows}, querier.Deps{
		Catalog: dropNotifier{n.catalog, n}, Buffers: n.fresh, Files: n.files, Pool: n.pool,
		Indexes: indexes{n.objects, searchindex.NewCache(0)}, Retention: n.visible, Limits: n.limits.For,
		Changed: auth.NewAudit(n.catalog, n.component("audit")).Record,
		Logger:  n.component("querier"), Registerer: n.metrics,
	})
	n.makePromQL()
	n.guard = newGuard(c.Querier.Concurrency, localQuerier{n.querier}, n.promql)
	return err
}

// buffers reads fresh rows: those of this process alone when nobody else can hold any.
func (n *node) buffers() querier.Buffers {
	if !n.clustered() {
		return n.ingest
	}
	return holders.New(holders.Options{Timeout: n.config.Querier.BufferTimeout}, holders.Deps{
		Writers: n.catalog, Holder: n.holder, Logger: n.component("querier"), Registerer: n.metrics,
	})
}

func (n *node) stopEngine(context.Context) error {
	var errs []error
	if n.pool != nil {
		errs = append(errs, n.pool.Close()) //nolint:contextcheck // closing takes no context
	}
	return errors.Join(errs...)
}

// dataDirs are the folders that an org's statements may read: its own below the cache and below a local object store.
func (n *node) dataDirs(org tenant.ID) []string {
	dirs := []string{n.files.Dir(org)}
	if dir, ok := n.objects.LocalPath(string(org)); ok {
		dirs = append(dirs, dir)
	}
	return dirs
}

// retention is the age at which rows of an org expire by configuration; 0 = never.
func (n *node) retention(org tenant.ID) time.Duration {
	keep := n.limits.For(org).RetentionPeriod
	if days := n.config.Compactor.Retention; days > 0 && (keep == 0 || days < keep) {
		keep = days
	}
	return keep
}

// visible is the age above which rows of an org are not shown: its retention, or how far back its queries see.
func (n *node) visible(org tenant.ID) time.Duration {
	age := n.retention(org)
	if back := n.limits.For(org).MaxQueryLookback; back > 0 && (age == 0 || back < age) {
		age = back
	}
	return age
}

func (n *node) compactor(ctx context.Context) error {
	return compactor.New(compactor.Options{
		Interval: n.config.Compactor.Interval, DeletionGrace: n.config.Compactor.DeletionGrace, Retention: n.retention,
		TargetSize: n.config.Compactor.TargetSize, StagingDir: n.stagingDir(),
		MaxConcurrentGroups: n.config.Compactor.MaxConcurrentGroups, MemoryLimit: n.config.Compactor.MemoryLimit,
	}, compactor.Deps{
		Catalog: n.catalog, Objects: n.objects, Files: n.files, Division: n.division, Space: wal.OS{}.Space, Clock: clock.System{},
		Logger: n.component("compactor"), Registerer: n.metrics,
	}).Run(ctx)
}

// front returns what takes client writes: a router's hands them on, all others keep them.
func (n *node) front() *ingress.Front {
	var writer ingress.Writer = n.ingest
	if n.router != nil {
		writer = n.router
	}
	return ingress.NewFront(writer, ingress.Limits{
		MaxBodyBytes: n.config.Intake.MaxBodySize, InFlightBytes: n.config.Intake.InFlightMax,
		For:   n.limits.For,
		Bytes: n.writeLimits.bytes, Rows: n.writeLimits.rows, Options: n.writeLimits.of,
	}, clock.System{}, n.metrics)
}

// indexes opens the search indexes in the object store.
type indexes struct {
	objects objstore.Reader
	cache   *searchindex.Cache
}

// OpenIndex implements querier.Indexes.
func (x indexes) OpenIndex(ctx context.Context, s catalog.Segment) (*searchindex.Index, error) {
	key := s.IndexKey // the index stays in memory, and the segment need not
	read := func(ctx context.Context, off int64, buf []byte) error {
		return objstore.ReadRange(ctx, x.objects, key, off, buf)
	}
	return x.cache.Open(ctx, s.IndexKey, s.Index, searchindex.Identity{Key: s.Key, Checksum: s.Checksum}, read)
}
