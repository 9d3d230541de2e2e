package ingest_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/sqlite"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fresh"
	"github.com/millstream/millstream/internal/ingest"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/objstore/faultstore"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is what outlives a process: the catalog, the objects and the directory.
type store struct {
	catalog *sqlite.Catalog
	objects *faultstore.Store
	dir     string
}

type tester interface {
	require.TestingT
	Helper()
	Cleanup(func())
}

func newStore(t tester, dir string) *store {
	c, err := sqlite.Open(context.Background(), sqlite.Options{Path: filepath.Join(dir, "catalog.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return &store{catalog: c, objects: faultstore.New(objstore.NewMemory(clock.System{}), 1), dir: dir}
}

// open starts a component on the store.
func (s *store) open(t tester, change ...func(*ingest.Options)) *ingest.Ingest {
	opts := ingest.Options{
		Node: "n1", StagingDir: s.dir, FlushInterval: time.Hour,
		WAL: wal.Options{Dir: filepath.Join(s.dir, "wal"), ReserveSize: -1},
	}
	for _, f := range change {
		f(&opts)
	}
	g := ingest.New(opts, ingest.Deps{Catalog: s.catalog, Objects: s.objects})
	require.NoError(t, g.Start(context.Background()))
	return g
}

// crash ends a component as a kill would: nothing is flushed.
func crash(t tester, g *ingest.Ingest) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, g.Close(ctx))
}

func stream(name string) signal.Stream {
	return signal.Stream{Org: "t1", Database: signal.DefaultDatabase, Signal: signal.Logs, Name: name}
}

// batch has rows with the numbers from first on, a second apart.
func batch(s signal.Stream, first, rows int) *signal.Batch {
	b := signal.NewBuilder()
	for i := range rows {
		b.BeginRow()
		b.SetInt64(b.Column([]byte("n")), int64(first+i))
		b.EndRow(int64(first+i) * int64(time.Second))
	}
	return &signal.Batch{Stream: s, Record: b.Finish()}
}

func write(t tester, g *ingest.Ingest, b *signal.Batch) {
	t.Helper()
	defer b.Release()
	require.NoError(t, g.Write(context.Background(), b))
}

// picture is what a query would see.
type picture struct {
	fresh, stored int64
	segments      []catalog.Segment
	columns       []catalog.Column
}

// look reads as a query does: buffers first, then the catalog, then what is committed is dropped from the buffers.
func (s *store) look(t tester, g *ingest.Ingest, of signal.Stream) picture {
	t.Helper()
	ctx := context.Background()
	streams, err := s.catalog.EnsureStreams(ctx, []signal.Stream{of})
	require.NoError(t, err)
	dataset := streams[0].Dataset
	const end = int64(1) << 60
	buffers, err := g.Snapshot(ctx, fresh.Request{Org: of.Org, Datasets: []catalog.DatasetID{dataset}, Start: -end, End: end})
	require.NoError(t, err)
	defer buffers.Release()
	snap, err := s.catalog.Snapshot(ctx, catalog.SnapshotQuery{
		Datasets: []catalog.DatasetID{dataset}, Streams: []catalog.StreamID{streams[0].ID}, Start: -end, End: end,
	})
	require.NoError(t, err)
	p := picture{segments: snap.Segments, columns: snap.Columns[streams[0].ID]}
	for _, f := range buffers.Snapshots {
		for _, c := range f.Chunks {
			if c.Seq > snap.Committed[dataset][f.Writer] {
				p.fresh += c.Record.NumRows()
			}
		}
	}
	for _, seg := range snap.Segments {
		p.stored += seg.Rows
	}
	return p
}

func TestRowsAreVisibleFreshAndFlushed(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	g := s.open(t)
	write(t, g, batch(stream("a"), 0, 10))
	write(t, g, batch(stream("a"), 10, 5))
	write(t, g, batch(stream("b"), 0, 1))
	p := s.look(t, g, stream("a"))
	require.EqualValues(t, 15, p.fresh)
	require.Zero(t, p.stored)

	require.NoError(t, g.Flush(t.Context()))
	p = s.look(t, g, stream("a"))
	require.Zero(t, p.fresh)
	require.EqualValues(t, 15, p.stored)
	require.Len(t, p.segments, 1)
	require.Equal(t, "n", p.columns[0].Physical)
	typ, _ := p.columns[0].Types.Resolve()
	require.Equal(t, signal.Int64, typ)
	require.True(t, g.Empty())

	require.NoError(t, g.Close(t.Context()))
	writers, err := s.catalog.Writers(t.Context())
	require.NoError(t, err)
	require.Empty(t, writers, "a clean end leaves no holder")
	require.ErrorIs(t, g.Write(t.Context(), batch(stream("a"), 0, 1)), ingest.ErrDraining)
}

func TestRowsOfACrashedProcessComeBackOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	first := s.open(t)
	write(t, first, batch(stream("a"), 0, 10))
	require.NoError(t, first.Flush(t.Context()))
	write(t, first, batch(stream("a"), 10, 10))
	crash(t, first)

	second := s.open(t)
	p := s.look(t, second, stream("a"))
	require.EqualValues(t, 10, p.fresh, "only what was not flushed is replayed")
	require.EqualValues(t, 10, p.stored)
	write(t, second, batch(stream("a"), 20, 1))
	writers, err := s.catalog.Writers(t.Context())
	require.NoError(t, err)
	require.Len(t, writers, 2, "the older epoch holds rows")
	require.NoError(t, second.Flush(t.Context()))
	p = s.look(t, second, stream("a"))
	require.Zero(t, p.fresh)
	require.EqualValues(t, 21, p.stored)
	require.NoError(t, second.Close(t.Context()))
	writers, err = s.catalog.Writers(t.Context())
	require.NoError(t, err)
	require.Empty(t, writers)
}

func TestReplayStaysWithinItsMemory(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	first := s.open(t)
	for i := range 50 {
		write(t, first, batch(stream("a"), i*1000, 1000))
	}
	crash(t, first)
	second := s.open(t, func(o *ingest.Options) { o.BufferMemoryMax = 100 << 10 })
	rows, bytes := second.Unflushed()
	require.LessOrEqual(t, bytes, int64(100<<10))
	require.Less(t, rows, int64(50_000))
	p := s.look(t, second, stream("a"))
	require.EqualValues(t, 50_000, p.fresh+p.stored)
	crash(t, second)
}

func TestFailingObjectStoreLosesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	g := s.open(t)
	write(t, g, batch(stream("a"), 0, 10))
	s.objects.Set(faultstore.Rule{Op: faultstore.Put, Err: faultstore.ErrInjected})
	require.Error(t, g.Flush(t.Context()))
	require.EqualValues(t, 10, s.look(t, g, stream("a")).fresh)
	s.objects.Set()
	require.NoError(t, g.Flush(t.Context()))
	require.EqualValues(t, 10, s.look(t, g, stream("a")).stored)
	require.NoError(t, g.Close(t.Context()))
}

func TestASecondProcessOfTheNodeFencesTheFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := newStore(t, dir)
	first := s.open(t)
	write(t, first, batch(stream("a"), 0, 10))
	second := s.open(t, func(o *ingest.Options) { o.WAL.Dir = filepath.Join(dir, "other") })
	write(t, second, batch(stream("a"), 100, 1))
	require.NoError(t, second.Flush(t.Context()))

	require.NoError(t, first.Flush(t.Context()))
	require.ErrorIs(t, first.Write(t.Context(), batch(stream("a"), 10, 1)), ingest.ErrFenced)
	require.Positive(t, first.Log().SizeBytes, "the log keeps the rows")
	write(t, first, batch(stream("b"), 0, 1)) // other datasets go on
	p := s.look(t, first, stream("a"))
	require.Zero(t, p.fresh, "rows are dropped from memory")
	require.EqualValues(t, 1, p.stored)
	require.NoError(t, second.Close(t.Context()))
	crash(t, first)
}

func TestUnknownDatabaseIsNotFound(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	g := s.open(t)
	unknown := stream("a")
	unknown.Database = "nope"
	b := batch(unknown, 0, 1)
	defer b.Release()
	require.ErrorIs(t, g.Write(t.Context(), b), catalog.ErrNoDatabase)
	require.NoError(t, g.Close(t.Context()))
}

func TestColumnsBeyondTheCapOverflow(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	g := s.open(t, func(o *ingest.Options) { o.MaxColumns = func(tenant.ID) int { return 3 } })
	for row := range 2 {
		b := signal.NewBuilder()
		b.BeginRow()
		for i := range 5 {
			b.SetInt64(b.Column(fmt.Appendf(nil, "f%d", i+row)), int64(i))
		}
		b.EndRow(0)
		write(t, g, &signal.Batch{Stream: stream("a"), Record: b.Finish()})
	}
	require.NoError(t, g.Flush(t.Context()))
	var names []string
	for _, c := range s.look(t, g, stream("a")).columns {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	require.Equal(t, []string{signal.OverflowColumn, "f0", "f1", "f2"}, names)
	require.NoError(t, g.Close(t.Context()))
}

func TestDroppedDatabaseTakesItsRowsAlong(t *testing.T) {
	t.Parallel()
	s := newStore(t, t.TempDir())
	g := s.open(t)
	_, err := s.catalog.CreateDatabase(t.Context(), "t1", "d", nil)
	require.NoError(t, err)
	inD := stream("a")
	inD.Database = "d"
	write(t, g, batch(inD, 0, 3))
	require.NoError(t, s.catalog.DropDatabase(t.Context(), "t1", "d"))
	require.NoError(t, g.Flush(t.Context()))
	require.True(t, g.Empty())
	b := batch(inD, 3, 1)
	defer b.Release()
	require.ErrorIs(t, g.Write(t.Context(), b), catalog.ErrNoDatabase)
	require.NoError(t, g.Close(t.Context()))
}
