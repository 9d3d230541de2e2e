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
)

// segments collects from the files that may hold something.
func (c *collector) segments(ctx context.Context, q *querier, segments []catalog.Segment) error {
	var wanted []catalog.Segment
	for _, s := range segments {
		if c.mayHold(&s) {
			wanted = append(wanted, s)
		}
	}
	if !c.batch.isPart() { // a part was charged with the whole
		if err := q.chargeBytes(wanted); err != nil {
			return err
		}
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

// sharesOf divides a file into n shares, but not more than there are workers.
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
	file, err := q.store.openCached(s.ID, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.close()) }()
	f := segmentReader{collector: c, cached: file, version: int64(s.ID), share: part}
	first, last := part.groups(file.file.Groups())
	for group := first; group < last; group++ {
		if f.pruned(file.file, group) {
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
	cached  *cachedSegment
	version int64
	share   share
	wanted  []wantedRun

	// Of row groups that hold samples of OTLP, which do not come through the cache:
	reader *columnar.SeriesReader
	runs   []columnar.SeriesRun
	kinds  map[int]string // of the row group's rows that say one
}

type wantedRun struct {
	series     *series
	metric     string
	run        int // its place in the row group
	start, end int // rows of the columns that it is taken from
}

// pruned judges a row group by its bounds.
func (c *collector) pruned(file *columnar.SeriesFile, group int) bool {
	if least, greatest, ok := file.MetricBounds(group); ok && !c.selector.mayHold(least, greatest) {
		return true
	}
	if least, greatest, ok := file.LabelBounds(group); ok && !c.batch.mayHold(least, greatest) {
		return true
	}
	least, greatest, ok := file.Times(group)
	return ok && (millisOf(greatest) < c.from || millisOf(least) > c.to)
}

func (f *segmentReader) group(ctx context.Context, group int) error {
	parts, err := f.cached.parts(ctx, group, f.selector)
	if err != nil {
		return err
	}
	blocks := make([]*block, len(parts))
	for i, p := range parts {
		if blocks[i], err = f.cached.block(ctx, group, p); err != nil {
			return err
		}
		if blocks[i].otlp {
			return f.otlpRows(ctx, group)
		}
	}
	run := 0
	for i, p := range parts {
		if err := f.part(ctx, group, p, blocks[i], run); err != nil {
			return err
		}
		run += len(blocks[i].runs)
	}
	return nil
}

// part collects from a block whose first run has a number in its row group.
func (f *segmentReader) part(ctx context.Context, group int, p part, b *block, run int) error {
	f.choose(b, run)
	if len(f.wanted) == 0 {
		return nil
	}
	if !f.samples && f.allShown(group) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, w := range f.wanted {
			f.place = f.share.place(group, w.run)
			if err := f.note(w.series, w.end-w.start); err != nil {
				return err
			}
		}
		return nil
	}
	columns, err := f.cached.samples(ctx, group, p)
	if err != nil {
		return err
	}
	return f.takeAll(columns, group)
}

// choose finds the runs of a block that are wanted.
func (f *segmentReader) choose(b *block, run int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted = f.wanted[:0]
	start := int32(0)
	for i := range b.runs {
		r := &b.runs[i]
		if s := f.findKnown(r.series, r.id); s != nil {
			f.wanted = append(f.wanted, wantedRun{s, r.series.metric, run + i, int(start), int(r.end)})
		}
		start = r.end
	}
}

// allShown reports whether every row of a row group is a sample that may be shown.
func (f *segmentReader) allShown(group int) bool {
	file := f.cached.file
	least, greatest, ok := file.Times(group)
	if !ok || !file.Full(group, signal.ValueColumn) || len(f.horizon.names.metricOptions) > 0 {
		return false
	}
	return millisOf(least) >= max(f.from, f.horizon.oldest("")) && millisOf(greatest) <= f.to
}

// takeAll adds the samples of the wanted runs.
func (f *segmentReader) takeAll(columns *groupColumns, group int) error {
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

// otlpRows collects from a row group that holds samples of OTLP, and others maybe.
func (f *segmentReader) otlpRows(ctx context.Context, group int) (err error) {
	if f.reader, err = f.cached.open(); err != nil {
		return err
	}
	if f.runs, err = f.reader.Runs(ctx, f.runs[:0], group); err != nil {
		return err
	}
	if f.kinds, err = textsByRow(ctx, f.reader, group, signal.KindColumn); err != nil {
		return err
	}
	if err := f.chooseRuns(ctx, group); err != nil || len(f.wanted) == 0 {
		return err
	}
	columns, err := readColumns(ctx, f.reader, f.version, group)
	if err != nil {
		return err
	}
	columns.leaveOut(f.kinds)
	return f.takeAll(columns, group)
}

// chooseRuns finds the runs of a row group that are wanted, and hands its rows of OTLP to the translator.
func (f *segmentReader) chooseRuns(ctx context.Context, group int) error {
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
			return f.note(w.series, last-first)
		}
		if err := f.add(w.series, g.slice(first, end)); err != nil {
			return err
		}
		first = end
	}
	return nil
}
