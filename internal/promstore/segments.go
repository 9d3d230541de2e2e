package promstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire/nativehist"
)

// segments collects from the files that may hold something.
func (c *collector) segments(ctx context.Context, q *querier, segments []catalog.Segment) error {
	var wanted []catalog.Segment
	for _, s := range segments {
		if c.mayHold(&s) {
			wanted = append(wanted, s)
		}
	}
	if err := q.chargeBytes(wanted); err != nil {
		return err
	}
	paths, err := q.picture.pin(ctx, q.store.deps.Files, wanted)
	if err != nil {
		return err
	}
	for i, s := range wanted {
		if err := c.segment(ctx, q, &s, paths[i]); err != nil {
			return fmt.Errorf("read segment %d: %w", s.ID, err)
		}
	}
	return nil
}

// chargeBytes counts the files of a selector against what a query of the org may read.
func (q *querier) chargeBytes(segments []catalog.Segment) error {
	most := q.store.deps.Limits(q.org).MaxQueryBytesRead
	if most <= 0 {
		return nil
	}
	for _, s := range segments {
		q.bytes += s.Bytes
	}
	if q.bytes > most {
		return fault.New(fault.Invalid, "the query would read %d bytes of files, more than the limit of %d (limits.%s): ask for a shorter "+
			"time range", q.bytes, most, limits.MaxQueryBytesRead)
	}
	return nil
}

// mayHold judges a segment by what the catalog knows.
func (c *collector) mayHold(s *catalog.Segment) bool {
	if millisOf(s.MaxTime) < c.from || millisOf(s.MinTime) > c.to {
		return false
	}
	i := slices.IndexFunc(s.Columns, func(x catalog.SegmentColumn) bool { return x.Physical == signal.MetricColumn })
	if i < 0 || s.Columns[i].Min == "" && s.Columns[i].Max == "" {
		return true
	}
	return c.selector.mayHold(s.Columns[i].Min, s.Columns[i].Max)
}

func (c *collector) segment(ctx context.Context, q *querier, s *catalog.Segment, path string) (err error) {
	r, err := columnar.OpenSeriesReader(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	f := segmentReader{collector: c, reader: r, version: int64(s.ID)}
	for group := range r.Groups() {
		if f.pruned(group) {
			q.store.metrics.groups.WithLabelValues("pruned").Inc()
			continue
		}
		q.store.metrics.groups.WithLabelValues("read").Inc()
		if err := f.group(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

// segmentReader collects from one file.
type segmentReader struct {
	*collector
	reader  *columnar.SeriesReader
	version int64
	runs    []columnar.SeriesRun
	wanted  []wantedRun
	micros  []int64
	kinds   map[int]string // of the row group's rows that say one
}

type wantedRun struct {
	series     *series
	metric     string
	start, end int
}

// pruned judges a row group by its bounds.
func (f *segmentReader) pruned(group int) bool {
	if least, greatest, ok := f.reader.Metrics(group); ok && !f.selector.mayHold(least, greatest) {
		return true
	}
	least, greatest, ok := f.reader.Times(group)
	return ok && (millisOf(greatest) < f.from || millisOf(least) > f.to)
}

func (f *segmentReader) group(ctx context.Context, group int) (err error) {
	if f.runs, err = f.reader.Runs(ctx, f.runs[:0], group); err != nil {
		return err
	}
	if err := f.otlpGroup(ctx, group); err != nil {
		return err
	}
	f.wanted = f.wanted[:0]
	for _, run := range f.runs {
		s, err := f.find(run.Metric, run.Labels)
		if err != nil {
			return err
		}
		if s != nil {
			f.wanted = append(f.wanted, wantedRun{s, run.Metric, run.Start, run.End})
		}
	}
	if len(f.wanted) == 0 {
		return nil
	}
	columns, err := f.columns(ctx, group)
	if err != nil {
		return err
	}
	for _, w := range f.wanted {
		if err := f.take(columns, w); err != nil {
			return err
		}
	}
	return nil
}

// groupColumns is the columns of a row group.
type groupColumns struct {
	piece
	present []bool // rows that hold a sample; nil when all do
}

func (f *segmentReader) columns(ctx context.Context, group int) (*groupColumns, error) {
	g := &groupColumns{piece: piece{version: f.version}}
	for _, read := range []func(context.Context, int, *groupColumns) error{
		f.readTimes, f.readValues, f.readHistograms, f.readFlags, f.leaveOTLP, f.readVersions, f.readStarts,
	} {
		if err := read(ctx, group, g); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (f *segmentReader) readTimes(ctx context.Context, group int, g *groupColumns) (err error) {
	if f.micros, err = f.reader.Ints(ctx, f.micros, group, signal.TimeColumn); err != nil {
		return err
	}
	g.times = make([]int64, len(f.micros))
	for i, t := range f.micros {
		g.times[i] = millisOf(t)
	}
	return nil
}

func (f *segmentReader) readValues(ctx context.Context, group int, g *groupColumns) (err error) {
	if !f.reader.Has(signal.ValueColumn) {
		g.values, g.present = make([]float64, len(g.times)), make([]bool, len(g.times))
		return nil
	}
	g.values, g.present, err = f.reader.Floats(ctx, nil, group, signal.ValueColumn)
	return err
}

func (f *segmentReader) readHistograms(ctx context.Context, group int, g *groupColumns) error {
	if g.present == nil || !f.reader.Has(signal.HistogramColumn) {
		return nil
	}
	g.histograms = make([][]byte, len(g.times))
	return f.reader.Texts(ctx, group, signal.HistogramColumn, func(row int, text []byte) {
		if !g.present[row] && nativehist.IsNative(text) {
			g.histograms[row], g.present[row] = slices.Clone(text), true
		}
	})
}

func (f *segmentReader) readFlags(ctx context.Context, group int, g *groupColumns) error {
	if g.present == nil || !f.reader.Has(signal.FlagsColumn) {
		return nil
	}
	flags, _, err := f.reader.NullableInts(ctx, group, signal.FlagsColumn)
	for row, flag := range flags {
		if flag&signal.FlagNoValue != 0 && !g.present[row] {
			g.values[row], g.present[row] = staleMarker(), true
		}
	}
	return err
}

// leaveOTLP takes rows of OTLP out, which are the translator's.
func (f *segmentReader) leaveOTLP(_ context.Context, _ int, g *groupColumns) error {
	if g.present == nil && len(f.kinds) > 0 {
		g.present = make([]bool, len(g.times))
		for i := range g.present {
			g.present[i] = true
		}
	}
	for row := range f.kinds {
		g.present[row] = false
	}
	return nil
}

func (f *segmentReader) readVersions(ctx context.Context, group int, g *groupColumns) (err error) {
	if f.reader.Has(signal.VersionColumn) {
		g.version = 0
		g.versions, err = f.reader.Ints(ctx, nil, group, signal.VersionColumn)
	}
	return err
}

func (f *segmentReader) readStarts(ctx context.Context, group int, g *groupColumns) (err error) {
	if !f.reader.Has(signal.StartColumn) {
		return nil
	}
	g.starts, _, err = f.reader.NullableInts(ctx, group, signal.StartColumn)
	for i, t := range g.starts {
		g.starts[i] = millisOf(t)
	}
	return err
}

// take adds the samples of a run that lie in the wanted time.
func (f *segmentReader) take(g *groupColumns, w wantedRun) error {
	from, to := f.visible(w.metric)
	first, last := cut(g.times[w.start:w.end], from, to)
	first, last = first+w.start, last+w.start
	if first > w.start && first < last && f.samples && at(g.histograms, first-1) != nil {
		first-- // the one before tells whether counters were reset
	}
	for first < last {
		for first < last && len(g.present) > 0 && !g.present[first] {
			first++
		}
		end := first
		for end < last && (len(g.present) == 0 || g.present[end]) {
			end++
		}
		if end == first {
			break
		}
		if !f.samples {
			f.note(w.series)
			return nil
		}
		if err := f.add(w.series, g.slice(first, end)); err != nil {
			return err
		}
		first = end
	}
	return nil
}
