package promeval

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
	"golang.org/x/sync/errgroup"
)

// errNotHere says that the engine has to evaluate the query.
var errNotHere = errors.New("not evaluated here")

// seriesOfBlock is how many series one worker takes at once.
const seriesOfBlock = 32

// evaluation evaluates one part at all steps.
type evaluation struct {
	*part

	workers          int
	lookback         time.Duration
	start, end, step int64 // milliseconds, both ends inclusive
}

// width returns how far a window reaches back.
func (e *evaluation) width() int64 {
	if e.call == nil {
		return e.lookback.Milliseconds()
	}
	return e.matrix.Range.Milliseconds()
}

// hints tells the storage what the engine would tell it.
func (e *evaluation) hints() *storage.SelectHints {
	offset := e.selector.Offset.Milliseconds()
	h := &storage.SelectHints{
		Start: e.start - offset - e.width() + 1, End: e.end - offset, Step: e.step, Func: e.op.String(), Grouping: e.grouping, By: !e.without,
	}
	if e.call != nil {
		h.Range, h.Func = e.width(), e.call.Func.Name
	}
	return h
}

func (e *evaluation) steps() int { return int((e.end-e.start)/e.step) + 1 }

// run reads the part's series and returns those of the aggregation, in the order in which their first members come.
func (e *evaluation) run(ctx context.Context, q storage.Querier) ([]storage.Series, annotations.Annotations, error) {
	set := q.Select(ctx, false, e.hints(), e.selector.LabelMatchers...)
	var series []storage.Series
	for set.Next() {
		series = append(series, set.At())
	}
	notes := set.Warnings()
	if err := set.Err(); err != nil {
		return nil, notes, err
	}
	groups := newGroups(e)
	blocks := make([]block, 4*e.workers)
	for at := 0; at < len(series); {
		wave, _ := errgroup.WithContext(ctx)
		wave.SetLimit(e.workers)
		n := 0
		for ; n < len(blocks) && at < len(series); n++ {
			b := &blocks[n]
			b.series = series[at:min(at+seriesOfBlock, len(series))]
			at += len(b.series)
			wave.Go(func() error { return b.evaluate(ctx, e) })
		}
		if err := wave.Wait(); err != nil {
			return nil, notes, err
		}
		for i := range blocks[:n] {
			notes = notes.Merge(blocks[i].notes)
			if err := groups.add(&blocks[i]); err != nil {
				return nil, notes, err
			}
		}
	}
	return groups.series(), notes, nil
}

// block is some series and what the function gives of them at every step.
type block struct {
	series  []storage.Series
	values  []float64 // a row a series
	present []bool    // whether there is a value
	notes   annotations.Annotations

	points []promql.FPoint // of one series
	it     chunkenc.Iterator
}

// evaluate fills the rows.
func (b *block) evaluate(ctx context.Context, e *evaluation) error {
	steps := e.steps()
	b.notes = nil
	b.values, b.present = sized(b.values, len(b.series)*steps), sized(b.present, len(b.series)*steps)
	clear(b.present)
	w := newWindow(e)
	for i, s := range b.series {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.read(s, e.call == nil); err != nil {
			return err
		}
		if e.call == nil {
			w.newest(b.points, b.values[i*steps:(i+1)*steps], b.present[i*steps:(i+1)*steps])
			continue
		}
		w.in[0].Metric = s.Labels()
		found, notes, err := w.slide(b.points, b.values[i*steps:(i+1)*steps], b.present[i*steps:(i+1)*steps])
		if err != nil {
			return err
		}
		b.notes = b.notes.Merge(notes)
		name := s.Labels().Get(model.MetricNameLabel)
		if found && e.isRate() && !counts(name) {
			b.notes = b.notes.Add(annotations.NewPossibleNonCounterInfo(name, e.matrix.PositionRange()))
		}
	}
	return nil
}

// counts reports whether a metric's name is that of a counter.
func counts(name string) bool {
	return slices.ContainsFunc([]string{"_total", "_sum", "_count", "_bucket"}, func(suffix string) bool {
		return strings.HasSuffix(name, suffix)
	})
}

// read reads the points of a series, with the staleness markers or without them.
func (b *block) read(s storage.Series, stale bool) error {
	b.points = b.points[:0]
	b.it = s.Iterator(b.it)
	for typ := b.it.Next(); typ != chunkenc.ValNone; typ = b.it.Next() {
		if typ != chunkenc.ValFloat {
			return errNotHere
		}
		t, v := b.it.At()
		if stale || !value.IsStaleNaN(v) {
			b.points = append(b.points, promql.FPoint{T: t, F: v})
		}
	}
	return b.it.Err()
}

// window calls the engine's function on every window of a series.
type window struct {
	*evaluation

	apply  promql.FunctionCall
	args   parser.Expressions
	helper promql.EvalNodeHelper
	in     promql.Matrix // of one series
	rates  *rates        // instead of apply, for the functions that it knows
}

func newWindow(e *evaluation) *window {
	w := &window{
		evaluation: e, in: make(promql.Matrix, 1),
		helper: promql.EvalNodeHelper{Out: make(promql.Vector, 0, 1), LookbackDelta: e.lookback},
	}
	if e.call != nil {
		w.apply, w.args = promql.FunctionCalls[e.call.Func.Name], e.call.Args
		if e.isRate() {
			w.rates = &rates{}
		}
	}
	return w
}

// isRate reports whether the function is one of counters.
func (e *evaluation) isRate() bool {
	return e.call.Func.Name == "rate" || e.call.Func.Name == "increase"
}

// slide writes a value for every step whose window gives one, and reports whether any does.
func (w *window) slide(points []promql.FPoint, values []float64, present []bool) (found bool, notes annotations.Annotations, err error) {
	offset, width := w.selector.Offset.Milliseconds(), w.width()
	if w.rates != nil {
		divide := 0.0
		if w.call.Func.Name == "rate" {
			divide = w.matrix.Range.Seconds()
		}
		w.rates.reset(points, divide)
	}
	first, last := 0, 0 // of the window, last exclusive
	for i := range values {
		ts := w.start + int64(i)*w.step
		newest := ts - offset
		for last < len(points) && points[last].T <= newest {
			last++
		}
		for first < last && points[first].T <= newest-width {
			first++
		}
		if first == last {
			continue
		}
		if w.rates != nil {
			values[i], present[i] = w.rates.of(first, last, newest-width, newest)
			found = found || present[i]
			continue
		}
		w.in[0].Floats = points[first:last:last]
		w.helper.Ts = ts
		out, more := w.apply(nil, w.in, w.args, &w.helper)
		notes = notes.Merge(more)
		w.helper.Out = out[:0]
		if len(out) == 0 {
			continue
		}
		if out[0].H != nil {
			return found, notes, errNotHere
		}
		values[i], present[i], found = out[0].F, true, true
	}
	return found, notes, nil
}

// newest writes the newest value of every step's window, unless the series has ended.
func (w *window) newest(points []promql.FPoint, values []float64, present []bool) {
	offset, width := w.selector.Offset.Milliseconds(), w.width()
	last := 0
	for i := range values {
		at := w.start + int64(i)*w.step - offset
		for last < len(points) && points[last].T <= at {
			last++
		}
		if last > 0 && points[last-1].T > at-width && !value.IsStaleNaN(points[last-1].F) {
			values[i], present[i] = points[last-1].F, true
		}
	}
}

// withoutName returns labels as functions and aggregations leave them.
func withoutName(l labels.Labels) labels.Labels { return l.DropReserved(schema.IsMetadataLabel) }

// sized returns a slice of n elements, in the memory of s if that suffices.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
