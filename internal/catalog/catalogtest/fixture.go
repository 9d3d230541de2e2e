package catalogtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// The orgs of every case.
const (
	acme  tenant.ID = "acme"
	other tenant.ID = "o'ther(*)"
)

// fixture is a catalog with short ways to use it that fail the test on errors.
type fixture struct {
	catalog.Catalog

	t   *testing.T
	ctx context.Context //nolint:containedctx // the test's, for its length
}

func newFixture(t *testing.T, c catalog.Catalog) *fixture {
	t.Helper()
	return &fixture{Catalog: c, t: t, ctx: t.Context()}
}

// logs returns a stream of logs in the default database of an org, registered.
func (f *fixture) logs(org tenant.ID, name string) catalog.Stream {
	f.t.Helper()
	return f.ensure(signal.Stream{Org: org, Database: signal.DefaultDatabase, Signal: signal.Logs, Name: name})[0]
}

// both returns the stream s of both orgs.
func (f *fixture) both() [2]catalog.Stream {
	f.t.Helper()
	return [2]catalog.Stream{f.logs(acme, "s"), f.logs(other, "s")}
}

func (f *fixture) ensure(streams ...signal.Stream) []catalog.Stream {
	f.t.Helper()
	out, err := f.EnsureStreams(f.ctx, streams)
	require.NoError(f.t, err)
	return out
}

// start starts an epoch of node n.
func (f *fixture) start() int64 {
	f.t.Helper()
	w, err := f.StartWriter(f.ctx, "n", "n:1")
	require.NoError(f.t, err)
	return w.Epoch
}

// segments returns n new segments of a stream with numbers drawn, times [1000·number, 1000·number+999].
func (f *fixture) segments(s catalog.Stream, n int) []catalog.Segment {
	f.t.Helper()
	out, err := newSegments(f.ctx, f.Catalog, s, n)
	require.NoError(f.t, err)
	return out
}

func newSegments(ctx context.Context, c catalog.Segments, s catalog.Stream, n int) ([]catalog.Segment, error) {
	first, err := c.NextSegments(ctx, n)
	if err != nil {
		return nil, err
	}
	out := make([]catalog.Segment, n)
	for i := range out {
		id := first + catalog.SegmentID(i)
		out[i] = catalog.Segment{
			ID: id, Dataset: s.Dataset, Org: s.Org, Key: fmt.Sprintf("%s/data/%d.parquet", s.Org, id),
			Bytes: 1 << 40, Rows: 7, MinTime: int64(id) * 1000, MaxTime: int64(id)*1000 + 999,
			Partition: catalog.Partition{Unit: catalog.Hour, Start: -3_600_000_000}, Level: 1, Format: 1, Checksum: "xxh64:ff", RowGroups: 2,
			Columns: []catalog.SegmentColumn{
				{ID: 1, Physical: "message", Type: signal.String, Nulls: 3, Min: "a\"'%", Max: "zé\xff\xc3", Exact: true},
				{ID: 2, Physical: "n", Type: signal.Int64, Min: "-5", Max: "9223372036854775807"},
			},
			IndexKey: fmt.Sprintf("%s/index/%d", s.Org, id), Index: 12,
		}
	}
	return out, nil
}

// part returns the part of a stream's dataset in a round, with one new segment.
func (f *fixture) part(s catalog.Stream, from, to uint64) catalog.DatasetCommit {
	f.t.Helper()
	return catalog.DatasetCommit{Dataset: s.Dataset, From: from, To: to, Segments: f.segments(s, 1)}
}

// commit commits one round and returns its results.
func (f *fixture) commit(node string, epoch int64, parts ...catalog.DatasetCommit) []catalog.CommitResult {
	f.t.Helper()
	results, err := f.Commit(f.ctx, catalog.Commit{Node: node, Epoch: epoch, Datasets: parts})
	require.NoError(f.t, err)
	require.Len(f.t, results, len(parts))
	return results
}

// publish commits a part that must be committed and returns the part.
func (f *fixture) publish(node string, epoch int64, s catalog.Stream, from, to uint64) catalog.DatasetCommit {
	f.t.Helper()
	p := f.part(s, from, to)
	require.Equal(f.t, []catalog.CommitResult{{Outcome: catalog.Committed, Current: to}}, f.commit(node, epoch, p))
	return p
}

// all returns a query for everything of the streams.
func all(streams ...catalog.Stream) catalog.SnapshotQuery {
	q := catalog.SnapshotQuery{Start: -1 << 62, End: 1 << 62}
	for _, s := range streams {
		q.Datasets = append(q.Datasets, s.Dataset)
		q.Streams = append(q.Streams, s.ID)
	}
	return q
}

func (f *fixture) snapshot(streams ...catalog.Stream) catalog.Snapshot {
	f.t.Helper()
	s, err := f.Snapshot(f.ctx, all(streams...))
	require.NoError(f.t, err)
	return s
}

// live returns the numbers of the live segments of streams, ascending.
func (f *fixture) live(streams ...catalog.Stream) []catalog.SegmentID {
	f.t.Helper()
	out := ids(f.snapshot(streams...).Segments)
	slices.Sort(out)
	return out
}

// version returns the version of a stream's dataset.
func (f *fixture) version(s catalog.Stream) int64 {
	f.t.Helper()
	v, ok := f.snapshot(s).Versions[s.Dataset]
	require.True(f.t, ok, "dataset %d is not in the snapshot", s.Dataset)
	return v
}

// retired lists the retired segments as of the catalog's time, which a writer started for the purpose tells.
func (f *fixture) retired() []catalog.Segment {
	f.t.Helper()
	w, err := f.StartWriter(f.ctx, "clock", "")
	require.NoError(f.t, err)
	out, err := f.Retired(f.ctx, w.Started, 1_000_000)
	require.NoError(f.t, err)
	return out
}

func ids(segments []catalog.Segment) []catalog.SegmentID {
	out := make([]catalog.SegmentID, len(segments))
	for i := range segments {
		out[i] = segments[i].ID
	}
	return out
}

func sorted[T cmp.Ordered](items []T) []T {
	slices.Sort(items)
	return items
}

// together runs do n times at once and returns when all have ended.
func together(n int, do func(i int)) {
	var wait sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wait.Go(func() {
			<-begin
			do(i)
		})
	}
	close(begin)
	wait.Wait()
}
