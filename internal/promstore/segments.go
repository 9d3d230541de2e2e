package promstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

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
	readers, ctx := errgroup.WithContext(ctx)
	workers := runtime.GOMAXPROCS(0)
	readers.SetLimit(workers)
	for i := range wanted {
		for _, share := range sharesOf(wanted[i].Rows/q.store.opts.ShareRows, workers) {
			readers.Go(func() error {
				if err := c.segment(ctx, q, &wanted[i], paths[i], share.at(i)); err != nil {
					return fmt.Errorf("read segment %d: %w", wanted[i].ID, err)
				}
				return nil
			})
		}
	}
	return readers.Wait()
}

// share is the row groups of a file that one goroutine reads: the part-th of so many parts.
type share struct {
	part, of int
	file     int // place of the file among those that are read
}

func (s share) at(file int) share {
	s.file = file
	return s
}

// sharesOf divides a file into n shares, but not more than there are workers. Each opens it, which costs about as much as reading a few
// row groups.
func sharesOf(n int64, workers int) []share {
	out := make([]share, min(max(n, 1), int64(workers)))
	for i := range out {
		out[i] = share{part: i, of: len(out)}
	}
	return out
}

// groups returns the row groups of a share, last exclusive.
func (s share) groups(n int) (first, last int) { return s.part * n / s.of, (s.part + 1) * n / s.of }

// place returns where a run of a row group stands among all that are read.
func (s share) place(group, run int) int64 {
	const bitsOfGroup, bitsOfRun = 20, 20 // a row group has a few thousand rows
	return (int64(s.file)<<bitsOfGroup|int64(group))<<bitsOfRun | int64(run)
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

// segment collects from a share of a file.
func (c *collector) segment(ctx context.Context, q *querier, s *catalog.Segment, path string, part share) (err error) {
	r, err := columnar.OpenSeriesReader(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	f := segmentReader{collector: c, reader: r, version: int64(s.ID), share: part}
	first, last := part.groups(r.Groups())
	for group := first; group < last; group++ {
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
	share   share
	runs    []columnar.SeriesRun
	wanted  []wantedRun
	micros  []int64
	kinds   map[int]string // of the row group's rows that say one
}

type wantedRun struct {
	series     *series
	metric     string
	run        int // its place in the row group
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
	if f.kinds, err = f.texts(ctx, group, signal.KindColumn); err != nil {
		return err
	}
	if err := f.choose(ctx, group); err != nil || len(f.wanted) == 0 {
		return err
	}
	columns, err := f.columns(ctx, group)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.wanted {
		f.place = f.share.place(group, w.run)
		if err := f.take(columns, w); err != nil {
			return err
		}
	}
	return nil
}

// choose finds the runs of a row group that are wanted, and hands its rows of OTLP to the translator.
func (f *segmentReader) choose(ctx context.Context, group int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.place = f.share.place(group, 0)
	if err := f.otlpGroup(ctx, group); err != nil {
		return err
	}
	f.wanted = f.wanted[:0]
	for i, run := range f.runs {
		s, err := f.find(run.Metric, run.Labels)
		if err != nil {
			return err
		}
		if s != nil {
			f.wanted = append(f.wanted, wantedRun{s, run.Metric, i, run.Start, run.End})
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
			return f.note(w.series)
		}
		if err := f.add(w.series, g.slice(first, end)); err != nil {
			return err
		}
		first = end
	}
	return nil
}
