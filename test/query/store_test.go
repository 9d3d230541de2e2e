package query_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/sqlite"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/fresh"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/querier"
	"github.com/millstream/millstream/internal/searchindex"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is the time of every test.
var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// row is a row as decoders see it: values by field name, nil ones left out.
type row map[string]any

// jsonText marks text that is one JSON value.
type jsonText string

// store is one process without its intake: rows are put into a buffer by Write and become files by Flush.
type store struct {
	t       testing.TB
	dir     string
	clock   *clock.Fake
	catalog *sqlite.Catalog

	groupRows int

	querier *querier.Querier
	engine  *querier.Querier // the same, but the engine reads all
	writer  catalog.Writer
	peers   []*store // other writers, whose buffers are read too

	mu       sync.Mutex
	seq      map[catalog.DatasetID]uint64
	buffered map[catalog.DatasetID][]fresh.Chunk
	streams  map[catalog.DatasetID]catalog.Stream
	indexes  map[catalog.SegmentID][]byte // index objects
	lost     []string                     // warnings of writers that do not answer
	onRead   func()                       // called between the buffers' snapshot and the catalog's
}

type storeOptions struct {
	querier   querier.Options
	groupRows int // rows of a row group; 0 = 1000
	engine    func(o *duck.Options)
	retention time.Duration
	limits    func(tenant.ID) limits.Limits // nil: the defaults
}

func newStore(t testing.TB, o storeOptions) *store {
	t.Helper()
	s := &store{
		t: t, dir: t.TempDir(), clock: clock.NewFake(now), seq: map[catalog.DatasetID]uint64{},
		buffered: map[catalog.DatasetID][]fresh.Chunk{}, streams: map[catalog.DatasetID]catalog.Stream{},
		indexes: map[catalog.SegmentID][]byte{}, groupRows: o.groupRows,
	}
	if s.groupRows == 0 {
		s.groupRows = 1000
	}
	var err error
	s.catalog, err = sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(s.dir, "catalog.db"), Clock: s.clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.catalog.Close()) })
	engine := duck.Options{
		Concurrency: 2, WarmInstances: 4, MemoryLimit: 512 << 20, TempDir: filepath.Join(s.dir, "temp"), TempMaxSize: 1 << 30, Threads: 2,
		DataDirs: func(orgs tenant.ID) (dirs []string) {
			for org := range strings.SplitSeq(string(orgs), "|") {
				dirs = append(dirs, filepath.Join(s.dir, "objects", org))
			}
			return dirs
		},
	}
	if o.engine != nil {
		o.engine(&engine)
	}
	pool, err := duck.NewPool(engine, nil, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	deps := querier.Deps{
		Catalog: s.catalog, Buffers: s, Files: s, Indexes: s, Pool: pool, Clock: s.clock,
		Retention: func(tenant.ID) time.Duration { return o.retention }, Limits: o.limits,
	}
	s.querier, err = querier.New(o.querier, deps)
	require.NoError(t, err)
	o.querier.NoSearch = true
	s.engine, err = querier.New(o.querier, deps)
	require.NoError(t, err)
	s.writer, err = s.catalog.StartWriter(t.Context(), "n1", "")
	require.NoError(t, err)
	return s
}

// peer returns another writer of the same catalog and objects.
func (s *store) peer(node string) *store {
	s.t.Helper()
	p := &store{
		t: s.t, dir: s.dir, clock: s.clock, catalog: s.catalog, groupRows: s.groupRows, seq: map[catalog.DatasetID]uint64{},
		buffered: map[catalog.DatasetID][]fresh.Chunk{}, streams: map[catalog.DatasetID]catalog.Stream{},
		indexes: map[catalog.SegmentID][]byte{},
	}
	var err error
	p.writer, err = s.catalog.StartWriter(s.t.Context(), node, "")
	require.NoError(s.t, err)
	s.peers = append(s.peers, p)
	return p
}

// Pin implements querier.Files: files are read in place.
func (s *store) Pin(_ context.Context, segments []catalog.Segment) (paths []string, release func(), err error) {
	for _, x := range segments {
		paths = append(paths, filepath.Join(s.dir, "objects", x.Key))
	}
	return paths, func() {}, nil
}

// OpenIndex implements querier.Indexes.
func (s *store) OpenIndex(ctx context.Context, x catalog.Segment) (*searchindex.Index, error) {
	s.mu.Lock()
	object, flushed := s.indexes[x.ID]
	s.mu.Unlock()
	if !flushed { // a compactor has made it
		var err error
		if object, err = os.ReadFile(filepath.Join(s.dir, "objects", x.IndexKey)); err != nil {
			return nil, err
		}
	}
	read := func(_ context.Context, off int64, buf []byte) error {
		if off+int64(len(buf)) > int64(len(object)) {
			return io.ErrUnexpectedEOF
		}
		copy(buf, object[off:])
		return nil
	}
	return searchindex.Open(ctx, read, int64(len(object)), searchindex.Identity{Key: x.Key, Checksum: x.Checksum})
}

// Snapshot implements querier.Buffers.
func (s *store) Snapshot(ctx context.Context, q fresh.Request) (fresh.Result, error) {
	s.mu.Lock()
	out := fresh.Result{Warnings: slices.Clone(s.lost)}
	for dataset, chunks := range s.buffered {
		if s.streams[dataset].Org != q.Org || !slices.Contains(q.Datasets, dataset) {
			continue
		}
		x := fresh.Snapshot{Writer: catalog.WriterKey{Node: s.writer.Node, Epoch: s.writer.Epoch}, Dataset: dataset}
		for _, c := range chunks {
			c.Record.Retain()
			x.Chunks = append(x.Chunks, c)
		}
		out.Snapshots = append(out.Snapshots, x)
	}
	onRead := s.onRead
	s.mu.Unlock()
	for _, p := range s.peers {
		theirs, err := p.Snapshot(ctx, q)
		if err != nil {
			return out, err
		}
		out.Join(theirs)
	}
	if onRead != nil {
		onRead()
	}
	return out, nil
}

// logs returns the name of a stream of logs in the default database.
func logs(org tenant.ID, name string) signal.Stream {
	return signal.Stream{Org: org, Database: signal.DefaultDatabase, Signal: signal.Logs, Name: name}
}

// Write puts rows into the buffer of a stream, as one batch. A row's time is its "_timestamp" (time.Time), else now.
func (s *store) Write(of signal.Stream, rows ...row) {
	s.t.Helper()
	b := signal.NewBuilder()
	for _, r := range rows {
		b.BeginRow()
		at := now
		names := make([]string, 0, len(r))
		for name := range r {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if name == signal.TimeColumn {
				at = r[name].(time.Time) //nolint:forcetypeassert // see above
				continue
			}
			set(b, name, r[name])
		}
		b.EndRow(at.UnixNano())
	}
	s.WriteRecord(of, b.Finish())
}

func set(b *signal.Builder, name string, v any) {
	ref := b.OwnColumn(name)
	switch v := v.(type) {
	case bool:
		b.SetBool(ref, v)
	case int:
		b.SetInt64(ref, int64(v))
	case int64:
		b.SetInt64(ref, v)
	case float64:
		b.SetFloat64(ref, v)
	case string:
		b.SetString(ref, []byte(v))
	case jsonText:
		b.SetJSON(ref, []byte(v))
	case time.Time:
		b.SetTimestamp(ref, v.UnixMicro())
	default:
		panic(fmt.Sprintf("value of type %T", v))
	}
}

// WriteRecord puts a record into the buffer of a stream.
func (s *store) WriteRecord(of signal.Stream, r arrow.RecordBatch) {
	s.t.Helper()
	found, err := s.catalog.EnsureStreams(s.t.Context(), []signal.Stream{of})
	require.NoError(s.t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	dataset := found[0].Dataset
	s.streams[dataset] = found[0]
	s.seq[dataset]++
	s.buffered[dataset] = append(s.buffered[dataset], fresh.Chunk{Seq: s.seq[dataset], Record: r})
}

// Flush makes files of all buffered rows, one a partition and dataset, and empties the buffers.
func (s *store) Flush() {
	s.t.Helper()
	s.commit()
	s.mu.Lock()
	defer s.mu.Unlock()
	for dataset, chunks := range s.buffered {
		for _, c := range chunks {
			c.Record.Release()
		}
		delete(s.buffered, dataset)
	}
}

// commit publishes what is buffered and leaves it in the buffers.
func (s *store) commit() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for dataset, chunks := range s.buffered {
		committed, err := s.catalog.Committed(s.t.Context(), s.writer.Node, s.writer.Epoch)
		require.NoError(s.t, err)
		c := catalog.DatasetCommit{Dataset: dataset, From: committed[dataset], To: s.seq[dataset]}
		var records []arrow.RecordBatch
		for _, x := range chunks {
			if x.Seq > c.From {
				records = append(records, x.Record)
			}
		}
		if len(records) == 0 {
			continue
		}
		s.files(&c, records)
		results, err := s.catalog.Commit(s.t.Context(), catalog.Commit{
			Node: s.writer.Node, Epoch: s.writer.Epoch, Datasets: []catalog.DatasetCommit{c},
		})
		require.NoError(s.t, err)
		require.Equal(s.t, catalog.Committed, results[0].Outcome)
	}
}

// files writes the records of one dataset.
func (s *store) files(c *catalog.DatasetCommit, records []arrow.RecordBatch) {
	s.t.Helper()
	of := s.streams[c.Dataset]
	lookup, order := s.layout(of, records)
	types := map[catalog.ColumnID]signal.TypeSet{}
	for _, p := range columnar.Split(records) {
		id, err := s.catalog.NextSegments(s.t.Context(), 1)
		require.NoError(s.t, err)
		key := fmt.Sprintf("%s/%d/%d.parquet", of.Org, c.Dataset, id)
		path := filepath.Join(s.dir, "objects", key)
		makeDir(s.t, filepath.Dir(path))
		opts := columnar.WriteOptions{Segment: id, RowGroupRows: s.groupRows, Sort: order, Index: true}
		info, err := columnar.WriteFile(s.t.Context(), path, p, lookup, opts)
		require.NoError(s.t, err)
		for column, set := range info.Types {
			types[column] |= set
		}
		s.indexes[id] = info.Index.Finish(searchindex.Identity{Key: key, Checksum: info.Checksum})
		c.Segments = append(c.Segments, catalog.Segment{
			IndexKey: key + ".index", Index: int64(len(s.indexes[id])),
			ID: id, Dataset: c.Dataset, Org: of.Org, Key: key, Bytes: info.Bytes, Rows: info.Rows, MinTime: info.MinTime, MaxTime: info.MaxTime,
			Partition: p.Partition, Format: info.Format, Checksum: info.Checksum, RowGroups: info.RowGroups, Columns: info.Columns,
		})
	}
	if of.Signal != signal.Metrics {
		c.Columns = []catalog.PublishedColumns{{Stream: of.ID, Columns: types}}
	}
}

// layout reserves the columns of the records.
func (s *store) layout(of catalog.Stream, records []arrow.RecordBatch) (columnar.Columns, columnar.Order) {
	s.t.Helper()
	if of.Signal == signal.Metrics {
		return columnar.MetricColumn, columnar.BySeries
	}
	var names []string
	for _, r := range records {
		for j := signal.FirstField(r.Schema()); j < int(r.NumCols()); j++ {
			if !slices.Contains(names, r.ColumnName(j)) {
				names = append(names, r.ColumnName(j))
			}
		}
	}
	columns, err := s.catalog.ReserveColumns(s.t.Context(), of.ID, names)
	require.NoError(s.t, err)
	return func(name string) (catalog.Column, bool) {
		i := slices.IndexFunc(columns, func(c catalog.Column) bool { return c.Name == name })
		if i < 0 {
			return catalog.Column{}, false
		}
		return columns[i], true
	}, columnar.ByTime
}

// publishLabels reserves and publishes labels of a metric, as a flush does.
func (s *store) publishLabels(metric string, labels ...string) {
	s.t.Helper()
	of := signal.Stream{Org: "acme", Database: signal.DefaultDatabase, Signal: signal.Metrics, Name: metric}
	found, err := s.catalog.EnsureStreams(s.t.Context(), []signal.Stream{of})
	require.NoError(s.t, err)
	_, err = s.catalog.ReserveColumns(s.t.Context(), found[0].ID, labels)
	require.NoError(s.t, err)
}

// answer is a whole result as text.
type answer struct {
	columns []string
	types   []string
	rows    []string // cells joined by |, NULL as "(null)"
	result  *querier.Result
}

// try runs a statement of an org.
func (s *store) try(ctx context.Context, req querier.Request) (answer, error) {
	return tryAt(ctx, s.querier, req)
}

func tryAt(ctx context.Context, q *querier.Querier, req querier.Request) (answer, error) {
	result, err := q.Query(ctx, req)
	if err != nil {
		return answer{}, err
	}
	a := answer{result: result}
	for _, f := range result.Schema().Fields() {
		typ, _ := f.Metadata.GetValue(duck.TypeKey)
		a.columns, a.types = append(a.columns, f.Name), append(a.types, typ)
	}
	for {
		b, err := result.Next(ctx)
		if errors.Is(err, io.EOF) {
			return a, result.Close()
		}
		if err != nil {
			return a, errors.Join(err, result.Close())
		}
		for i := range int(b.NumRows()) {
			cells := make([]string, b.NumCols())
			for j := range cells {
				cells[j] = b.Column(j).ValueStr(i)
			}
			a.rows = append(a.rows, strings.Join(cells, "|"))
		}
		b.Release()
	}
}

// ask runs a statement that must succeed.
func (s *store) ask(org tenant.ID, statement string) answer {
	s.t.Helper()
	a, err := s.try(s.t.Context(), querier.Request{Org: org, Statement: statement, Change: true})
	require.NoError(s.t, err, statement)
	return a
}

// sorted returns the rows in an order that does not depend on the engine.
func (a answer) sorted() []string {
	out := slices.Clone(a.rows)
	slices.Sort(out)
	return out
}

// request is a statement of the org acme.
func request(statement string) querier.Request {
	return querier.Request{Org: "acme", Statement: statement}
}
