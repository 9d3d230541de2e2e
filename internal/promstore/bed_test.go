package promstore_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/fresh"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/promstore"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

const org tenant.ID = "t1"

// bed is a store over buffers and files that a test fills: it is its catalog, its buffers and its files.
type bed struct {
	*promstore.Store
	t         *testing.T
	clock     *clock.Fake
	databases []catalog.Database
	streams   []catalog.Stream
	segments  []catalog.Segment
	committed uint64 // of the writer
	chunks    []fresh.Chunk
	warnings  []string
	asked     []string // what was read of the outside, in order
	limits    limits.Limits
	retention time.Duration
}

var writer = catalog.WriterKey{Node: "n1", Epoch: 1} //nolint:gochecknoglobals // a constant

// newBed returns a bed whose clock stands at second 1000.
func newBed(t *testing.T, metrics ...string) *bed {
	b := &bed{t: t, clock: clock.NewFake(time.Unix(1000, 0)), limits: limits.Default()}
	b.databases = []catalog.Database{{ID: 1, Org: org, Name: "public", Options: map[string]string{}}}
	for i, name := range metrics {
		b.streams = append(b.streams, catalog.Stream{
			Stream: signal.Stream{Org: org, Database: "public", Signal: signal.Metrics, Name: name},
			ID:     catalog.StreamID(i + 1), Database: 1, Dataset: 1, Options: map[string]string{},
		})
	}
	b.Store = promstore.New(promstore.Options{BatchSamples: 2}, promstore.Deps{
		Catalog: b, Buffers: (*bedBuffers)(b), Files: b, Clock: b.clock,
		Retention: func(tenant.ID) time.Duration { return b.retention }, Limits: func(tenant.ID) limits.Limits { return b.limits },
	})
	return b
}

func (b *bed) Databases(context.Context, tenant.ID) ([]catalog.Database, error) {
	return b.databases, nil
}

func (b *bed) Streams(context.Context, tenant.ID) ([]catalog.Stream, error) {
	return b.streams, nil
}

func (b *bed) Snapshot(_ context.Context, q catalog.SnapshotQuery) (catalog.Snapshot, error) {
	b.asked = append(b.asked, "catalog")
	out := catalog.Snapshot{Committed: map[catalog.DatasetID]map[catalog.WriterKey]uint64{1: {writer: b.committed}}}
	for _, s := range b.segments {
		if s.MaxTime >= q.Start && s.MinTime < q.End {
			out.Segments = append(out.Segments, s)
		}
	}
	return out, nil
}

func (b *bed) Pin(_ context.Context, segments []catalog.Segment) (paths []string, release func(), err error) {
	for _, s := range segments {
		b.asked = append(b.asked, s.Key)
		paths = append(paths, s.Key)
	}
	return paths, func() {}, nil
}

type bedBuffers bed

func (b *bedBuffers) Snapshot(context.Context, fresh.Request) (fresh.Result, error) {
	b.asked = append(b.asked, "buffers")
	out := fresh.Result{Warnings: b.warnings}
	s := fresh.Snapshot{Writer: writer, Dataset: 1}
	for _, c := range b.chunks {
		c.Record.Retain()
		s.Chunks = append(s.Chunks, c)
	}
	out.Snapshots = append(out.Snapshots, s)
	return out, nil
}

// sample is a row of metric m, or of another: a float at a second, or what x says.
type sample struct {
	second float64
	value  float64
	x      signal.Sample
	labels []string // names and values
}

func record(samples ...sample) arrow.RecordBatch {
	b := signal.NewBuilder()
	m := signal.NewMetricBuilder(b)
	for _, s := range samples {
		x := s.x
		if x.Name == nil {
			x.Name = []byte("m")
		}
		x.Labels = &signal.LabelSet{}
		for i := 0; i < len(s.labels); i += 2 {
			x.Labels.Add([]byte(s.labels[i]), []byte(s.labels[i+1]))
		}
		x.Nanos = int64(s.second * 1e9)
		if x.Histogram == nil && x.Flags == 0 && x.Description == nil && x.Exemplars == nil {
			x.Value, x.HasValue = s.value, true
		}
		m.Append(&x)
	}
	return b.Finish()
}

// buffer puts samples into the buffer of the writer, as one batch.
func (b *bed) buffer(samples ...sample) {
	b.chunks = append(b.chunks, fresh.Chunk{Seq: uint64(len(b.chunks) + 1), Record: record(samples...)})
}

// file writes samples as the next segment.
func (b *bed) file(samples ...sample) {
	b.t.Helper()
	id := catalog.SegmentID(len(b.segments) + 1)
	path := filepath.Join(b.t.TempDir(), strconv.Itoa(int(id)))
	part := columnar.Part{Records: []arrow.RecordBatch{record(samples...)}}
	info, err := columnar.WriteFile(b.t.Context(), path, part, columnar.MetricColumn,
		columnar.WriteOptions{Segment: id, RowGroupRows: 4, Sort: columnar.BySeries})
	require.NoError(b.t, err)
	b.segments = append(b.segments, catalog.Segment{
		ID: id, Dataset: 1, Org: org, Key: path, Bytes: info.Bytes, Rows: info.Rows, MinTime: info.MinTime, MaxTime: info.MaxTime,
		RowGroups: info.RowGroups, Columns: info.Columns,
	})
}

// batched is selected, some samples at a time.
func (b *bed) batched(from, to float64, matchers ...*labels.Matcher) (out []string, err error) {
	b.t.Helper()
	q, err := b.Queryable(org, "public").Querier(int64(from*1000), int64(to*1000))
	require.NoError(b.t, err)
	defer func() { require.NoError(b.t, q.Close()) }()
	batches, ok := q.(interface {
		SelectInBatches(ctx context.Context, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet
	})
	require.True(b.t, ok)
	return texts(b.t, batches.SelectInBatches(b.t.Context(), nil, matchers...))
}

// selected returns what a selector gives between two seconds, a text a series.
func (b *bed) selected(from, to float64, matchers ...*labels.Matcher) (out []string, err error) {
	b.t.Helper()
	q, err := b.Queryable(org, "public").Querier(int64(from*1000), int64(to*1000))
	require.NoError(b.t, err)
	defer func() { require.NoError(b.t, q.Close()) }()
	return texts(b.t, q.Select(b.t.Context(), true, nil, matchers...))
}

// texts writes series with their samples: the values after each other, each with its second.
func texts(t *testing.T, set storage.SeriesSet) (out []string, err error) {
	t.Helper()
	var it chunkenc.Iterator
	for set.Next() {
		s := set.At()
		line := s.Labels().String()
		it = s.Iterator(it)
		for typ := it.Next(); typ != chunkenc.ValNone; typ = it.Next() {
			if typ != chunkenc.ValFloat {
				_, h := it.AtFloatHistogram(nil)
				line += fmt.Sprintf(" %v:%s", float64(it.AtT())/1000, h)
				continue
			}
			at, v := it.At()
			line += fmt.Sprintf(" %v:%v", float64(at)/1000, v)
			if math.Float64bits(v) == value.StaleNaN {
				line += "(stale)"
			}
		}
		require.NoError(t, it.Err())
		out = append(out, line)
	}
	return out, set.Err()
}

func (b *bed) require(want []string, from, to float64, matchers ...*labels.Matcher) {
	b.t.Helper()
	got, err := b.selected(from, to, matchers...)
	require.NoError(b.t, err)
	require.Equal(b.t, want, got)
	got, err = b.batched(from, to, matchers...)
	require.NoError(b.t, err)
	require.Equal(b.t, want, got, "in batches")
}

func named(name string) *labels.Matcher { return match(labels.MatchEqual, "__name__", name) }

func match(typ labels.MatchType, name, value string) *labels.Matcher {
	return labels.MustNewMatcher(typ, name, value)
}

// everywhere runs a test over samples in the buffer, in one file, and in one each.
func everywhere(t *testing.T, samples []sample, metrics []string, check func(*bed)) {
	t.Helper()
	for name, fill := range map[string]func(*bed){
		"buffered": func(b *bed) { b.buffer(samples...) },
		"a file":   func(b *bed) { b.file(samples...) },
		"files": func(b *bed) {
			for _, s := range samples {
				b.file(s)
			}
		},
		"mixed": func(b *bed) {
			b.file(samples[:len(samples)/2]...)
			b.buffer(samples[len(samples)/2:]...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, slices.Clone(metrics)...)
			fill(b)
			for range 2 { // the second time from the cache
				check(b)
			}
		})
	}
}
