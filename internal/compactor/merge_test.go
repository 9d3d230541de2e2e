package compactor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/compactor"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/objstore"
	"github.com/millstream/millstream/internal/searchindex"
	"github.com/millstream/millstream/internal/signal"
)

// plant is a rig whose segments have real files.
type plant struct {
	*rig
	store  *objstore.Local
	stream catalog.Stream
	seq    uint64

	indexed bool // flushes build indexes
}

func newPlant(t *testing.T) *plant {
	t.Helper()
	p := &plant{rig: newRig(t)}
	var err error
	p.store, err = objstore.NewLocal(t.TempDir())
	require.NoError(t, err)
	streams, err := p.catalog.EnsureStreams(t.Context(), []signal.Stream{logs("t1", "app")})
	require.NoError(t, err)
	p.stream = streams[0]
	return p
}

// Pin implements compactor.Files: files are read in place.
func (p *plant) Pin(_ context.Context, segments []catalog.Segment) (paths []string, release func(), err error) {
	for _, s := range segments {
		path, _ := p.store.LocalPath(s.Key)
		paths = append(paths, path)
	}
	return paths, func() {}, nil
}

func (p *plant) compactor(c compactor.Catalog) *compactor.Compactor {
	return compactor.New(compactor.Options{StagingDir: p.TempDir()},
		compactor.Deps{Catalog: c, Objects: p.store, Files: p, Clock: p.clock, Logger: discard()})
}

// flush writes one file of rows with the numbers from first on, a second apart.
func (p *plant) flush(at time.Time, first, rows int) {
	b := signal.NewBuilder()
	for i := range rows {
		b.BeginRow()
		b.SetInt64(b.Column([]byte("n")), int64(first+i))
		b.SetString(b.Column([]byte("m")), fmt.Appendf(nil, "row r%d", first+i))
		b.EndRow(at.Add(time.Duration(i) * time.Second).UnixNano())
	}
	record := b.Finish()
	defer record.Release()
	columns, err := p.catalog.ReserveColumns(p.Context(), p.stream.ID, []string{"n", "m"})
	require.NoError(p, err)
	commit := catalog.DatasetCommit{Dataset: p.stream.Dataset, From: p.seq, To: p.seq + 1}
	for _, part := range columnar.Split([]arrow.RecordBatch{record}) {
		id, err := p.catalog.NextSegments(p.Context(), 1)
		require.NoError(p, err)
		path := filepath.Join(p.TempDir(), "file")
		info, err := columnar.WriteFile(p.Context(), path, part, func(name string) (catalog.Column, bool) {
			for _, c := range columns {
				if c.Name == name {
					return c, true
				}
			}
			return catalog.Column{}, false
		}, columnar.WriteOptions{Segment: id, Index: p.indexed})
		require.NoError(p, err)
		key := columnar.ObjectKey("t1", signal.Logs, p.stream.Dataset, part.Partition, id)
		require.NoError(p, p.store.PutFile(p.Context(), key, path))
		seg := catalog.Segment{
			ID: id, Dataset: p.stream.Dataset, Org: "t1", Key: key, Bytes: info.Bytes, Rows: info.Rows, MinTime: info.MinTime, MaxTime: info.MaxTime,
			Partition: part.Partition, Format: info.Format, Checksum: info.Checksum, RowGroups: info.RowGroups, Columns: info.Columns,
		}
		if info.Index != nil {
			object := info.Index.Finish(searchindex.Identity{Key: key, Checksum: info.Checksum})
			seg.IndexKey, seg.Index = strings.TrimSuffix(key, columnar.DataSuffix)+columnar.IndexSuffix, int64(len(object))
			require.NoError(p, p.store.Put(p.Context(), seg.IndexKey, bytes.NewReader(object), seg.Index))
		}
		commit.Segments = append(commit.Segments, seg)
	}
	p.seq++
	results, err := p.catalog.Commit(p.Context(), catalog.Commit{
		Node: p.writer.Node, Epoch: p.writer.Epoch, Datasets: []catalog.DatasetCommit{commit},
	})
	require.NoError(p, err)
	require.Equal(p, catalog.Committed, results[0].Outcome)
}

// numbers reads every live segment and returns how often each number is there.
func (p *plant) numbers() (counts map[int64]int, segments []catalog.Segment) {
	snap, err := p.catalog.Snapshot(p.Context(), catalog.SnapshotQuery{
		Datasets: []catalog.DatasetID{p.stream.Dataset}, Start: -1 << 62, End: 1 << 62,
	})
	require.NoError(p, err)
	counts = make(map[int64]int)
	for _, s := range snap.Segments {
		path, _ := p.store.LocalPath(s.Key)
		r, err := columnar.OpenReader(path, nil)
		require.NoError(p, err)
		for {
			record, err := r.Next(p.Context())
			if err != nil {
				break
			}
			n := record.Column(record.Schema().FieldIndices("n")[0]).(*array.Int64)
			for _, v := range n.Int64Values() {
				counts[v]++
			}
			record.Release()
		}
		require.NoError(p, r.Close())
	}
	return counts, snap.Segments
}

// live returns the live segments by time.
func (p *plant) live() []catalog.Segment {
	p.Helper()
	snap, err := p.catalog.Snapshot(p.Context(), catalog.SnapshotQuery{
		Datasets: []catalog.DatasetID{p.stream.Dataset}, Start: -1 << 62, End: 1 << 62,
	})
	require.NoError(p, err)
	return snap.Segments
}

// objects returns the keys of all objects.
func (p *plant) objects() map[string]bool {
	p.Helper()
	keys := make(map[string]bool)
	require.NoError(p, p.store.List(p.Context(), "", func(e objstore.Entry) error { keys[e.Key] = true; return nil }))
	return keys
}

// requireNoLeftovers checks that the store has the objects of the live segments and no others.
func (p *plant) requireNoLeftovers() {
	p.Helper()
	want := make(map[string]bool)
	for _, s := range p.live() {
		want[s.Key] = true
		if s.IndexKey != "" {
			want[s.IndexKey] = true
		}
	}
	require.Equal(p, want, p.objects())
}

func (p *plant) requireOnce(rows int) []catalog.Segment {
	p.Helper()
	counts, segments := p.numbers()
	require.Len(p, counts, rows)
	for n, times := range counts {
		require.Equal(p, 1, times, "row %d", n)
	}
	return segments
}

func TestCompactKeepsEveryRowOnce(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	day := p.clock.Now().AddDate(0, 0, -2)
	rows := 0
	for i := range 60 { // tiny flushes over a day, some of them over an hour's end
		p.flush(day.Add(time.Duration(i)*24*time.Minute), rows, 30+i)
		rows += 30 + i
	}
	before := p.requireOnce(rows)
	require.Greater(t, len(before), 50)
	c := p.compactor(p.catalog)
	for range 4 {
		require.NoError(t, c.Compact(t.Context()))
		require.NoError(t, c.Seal(t.Context()))
	}
	after := p.requireOnce(rows)
	require.LessOrEqual(t, len(after), 2*2, "two days, at most two files each")
	for _, s := range after {
		require.NotEmpty(t, s.IndexKey)
		require.Positive(t, s.Level)
	}
	p.clock.Advance(compactor.DefaultDeletionGrace + time.Second)
	require.NoError(t, c.Delete(t.Context()))
	p.requireOnce(rows)
	objects := 0
	require.NoError(t, p.store.List(t.Context(), "", func(objstore.Entry) error { objects++; return nil }))
	require.Equal(t, 2*len(after), objects, "sources are gone, data and index of each merged file are there")
}

// failing makes Replace fail: before it takes effect, or after it.
type failing struct {
	compactor.Catalog
	before, after int // how many calls fail
}

func (f *failing) Replace(ctx context.Context, d catalog.DatasetID, old []catalog.SegmentID, added []catalog.Segment) error {
	if f.before > 0 {
		f.before--
		return fault.New(fault.Unavailable, "cut off before")
	}
	err := f.Catalog.Replace(ctx, d, old, added)
	if f.after > 0 {
		f.after--
		return errors.Join(err, fault.New(fault.Unavailable, "cut off after"))
	}
	return err
}

// TestCompactTwiceAtOnceAndCutOff is case K01 of the public reports, with lost answers: whatever happens, each row is there once.
func TestCompactTwiceAtOnceAndCutOff(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	day := p.clock.Now().AddDate(0, 0, -2)
	for i := range 30 {
		p.flush(day.Add(time.Duration(i)*time.Minute), i*10, 10)
	}
	done := make(chan error, 3)
	for _, f := range []*failing{{Catalog: p.catalog}, {Catalog: p.catalog, before: 1, after: 1}, {Catalog: p.catalog, after: 2}} {
		go func() { done <- p.compactor(f).Seal(context.WithoutCancel(t.Context())) }()
	}
	for range 3 {
		require.NoError(t, <-done)
	}
	require.LessOrEqual(t, len(p.requireOnce(300)), 2)
}

// TestDamagedSourceIsLeftAlone: nothing of a file that cannot be read is retired.
func TestDamagedSourceIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := newPlant(t)
	day := p.clock.Now().AddDate(0, 0, -2)
	for i := range 4 {
		p.flush(day.Add(time.Duration(i)*time.Minute), i*10, 10)
	}
	_, segments := p.numbers()
	path, _ := p.store.LocalPath(segments[1].Key)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[len(data)/2] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))
	c := p.compactor(p.catalog)
	require.Error(t, c.Seal(t.Context()))
	require.NoError(t, c.Seal(t.Context()), "the others are merged without it")
	snap, err := p.catalog.Snapshot(t.Context(), catalog.SnapshotQuery{
		Datasets: []catalog.DatasetID{p.stream.Dataset}, Start: -1 << 62, End: 1 << 62,
	})
	require.NoError(t, err)
	require.Len(t, snap.Segments, 2)
}
