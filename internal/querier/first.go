package querier

import (
	"context"
	"errors"
	"io"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/sqlplan"
)

// Bounds of the search for the first rows in the order of time.
const (
	maxFirstRows         = 10_000 // a larger answer is streamed from all segments at once
	defaultFirstScanRows = 50_000 // Options.FirstScanRows
	scanGrowth           = 4      // each try reads so many times the rows of the one before: all together cost a third more
)

// firstRowsOf returns the table of a statement that asks for the first rows in time among those that pass a filter, when looking for
// them range by range may pay; else nil.
func firstRowsOf(tables []*table) *table {
	if len(tables) != 1 {
		return nil
	}
	t := tables[0]
	if t.TopN == nil || t.TopN.Rows > maxFirstRows || t.stream.isMetric() || len(t.segments) == 0 {
		return nil
	}
	return t
}

// firstRows runs the statement over the rows that come first in time, in tries of a growing range. When it finds as many rows as are
// asked for, no row outside of the range can be among them: all of those come later. Else it tries again, at last over all.
func (r *run) firstRows(ctx context.Context, t *table, loaded map[catalog.DatasetID]*freshTable, s *state) (rows, error) {
	if r.searchable(t) && (!t.TopN.Filtered || t.selective()) {
		if out, err := r.findFirst(ctx, t, loaded, s); out != nil || err != nil {
			return out, err
		}
	}
	if !t.TopN.Filtered {
		return r.execute(ctx, r.plan.SQL, []*table{t}, loaded)
	}
	for _, first := range t.tries(r.querier.opts.FirstScanRows) {
		part := *t
		part.time = t.time.Intersect(first)
		part.segments = slices.DeleteFunc(slices.Clone(t.segments), func(s catalog.Segment) bool {
			return s.MaxTime < part.time.Start || s.MinTime >= part.time.End
		})
		found, err := r.collect(ctx, r.plan.SQL, &part, loaded)
		if err != nil {
			return nil, err
		}
		if found.rows == t.TopN.Rows-t.TopN.Offset {
			r.stats.PrunedBy[prunedByOrder] += int64(len(t.segments) - len(part.segments))
			r.count([]*table{&part}, s)
			return found, nil
		}
		if err := found.Close(); err != nil {
			return nil, err
		}
	}
	return r.execute(ctx, r.plan.SQL, []*table{t}, loaded)
}

// tries returns the time ranges to look through, each holding the one before: the first has about want rows of segments, the others
// scanGrowth times as many as the one before, all less than half of them.
func (t *table) tries(want int64) []sqlplan.TimeRange {
	low, high := t.segments[0].MinTime, t.segments[0].MaxTime
	var total int64
	for i := range t.segments {
		low, high = min(low, t.segments[i].MinTime), max(high, t.segments[i].MaxTime)
		total += t.rows(&t.segments[i])
	}
	var out []sqlplan.TimeRange
	for ; want < total/2; want *= scanGrowth {
		// The shortest span, counted from the end that is asked for, that seems to have enough rows.
		span := int64(sort.Search(int(high-low), func(span int) bool { return t.estimate(t.firstRange(low, high, int64(span))) >= want }))
		out = append(out, t.firstRange(low, high, span))
	}
	return out
}

// firstRange returns the range of a span of time between low and high that comes first in the order asked for.
func (t *table) firstRange(low, high, span int64) sqlplan.TimeRange {
	if t.TopN.Descending {
		return sqlplan.TimeRange{Start: high - span, End: sqlplan.MaxTime}
	}
	return sqlplan.TimeRange{Start: sqlplan.MinTime, End: low + span + 1}
}

// estimate returns about how many rows of segments lie in a range, as if each segment's rows were spread evenly.
func (t *table) estimate(r sqlplan.TimeRange) int64 {
	var rows float64
	for i := range t.segments {
		s := &t.segments[i]
		inside := min(s.MaxTime+1, r.End) - max(s.MinTime, r.Start)
		if inside > 0 {
			rows += float64(t.rows(s)) * float64(inside) / float64(s.MaxTime+1-s.MinTime)
		}
	}
	return int64(rows)
}

// collect runs a form of the statement over one table and holds its rows, which the caller knows to be few.
func (r *run) collect(ctx context.Context, statement string, t *table, loaded map[catalog.DatasetID]*freshTable) (*collected, error) {
	result, err := r.execute(ctx, statement, []*table{t}, loaded)
	if err != nil {
		return nil, err
	}
	c := &collected{schema: result.Schema()}
	for {
		batch, err := result.Next(ctx)
		if errors.Is(err, io.EOF) {
			return c, result.Close()
		}
		if err != nil {
			return nil, errors.Join(err, c.Close(), result.Close())
		}
		c.batches = append(c.batches, batch)
		c.rows += batch.NumRows()
	}
}

// collected is a finished result that is held in memory.
type collected struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	rows    int64
}

// Schema implements rows.
func (c *collected) Schema() *arrow.Schema { return c.schema }

// Next implements rows.
func (c *collected) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(c.batches) == 0 {
		return nil, io.EOF
	}
	b := c.batches[0]
	c.batches = c.batches[1:]
	return b, nil
}

// Close implements rows.
func (c *collected) Close() error {
	for _, b := range c.batches {
		b.Release()
	}
	c.batches = nil
	return nil
}
