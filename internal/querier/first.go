package querier

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/sqlplan"
)

// Bounds of the search for the first rows in the order of time.
const (
	maxFirstRows         = 10_000  // a larger answer is streamed from all segments at once
	defaultFirstScanRows = 200_000 // Options.FirstScanRows
	scanGrowth           = 4       // each try reads so many times the rows of the one before: all together cost a third more
)

// firstRowsOf returns the table of a statement that asks for the first rows in time among those that pass a filter, when looking for
// them segment by segment may pay; else nil.
func firstRowsOf(tables []*table) *table {
	if len(tables) != 1 {
		return nil
	}
	t := tables[0]
	if t.TopN == nil || !t.TopN.Filtered || t.TopN.Rows > maxFirstRows || t.stream.isMetric() || len(t.segments) < 2 {
		return nil
	}
	return t
}

// firstRows runs the statement over the segments that come first in time, on rows that come before all rows of the other segments. When
// it finds as many rows as are asked for, no other row can be among them. Else it tries again with more segments, at last with all.
func (r *run) firstRows(ctx context.Context, t *table, loaded map[catalog.DatasetID]*freshTable, s *state) (rows, error) {
	sorted := t.inOrder()
	for _, n := range t.tries(sorted, r.querier.opts.FirstScanRows) {
		part := *t
		part.segments = sorted[:n]
		part.time = t.time.Intersect(t.before(&sorted[n]))
		found, err := r.collect(ctx, &part, loaded)
		if err != nil {
			return nil, err
		}
		if found.rows == t.TopN.Rows {
			r.stats.PrunedBy[prunedByOrder] += int64(len(sorted) - n)
			r.count([]*table{&part}, s)
			return found, nil
		}
		if err := found.Close(); err != nil {
			return nil, err
		}
	}
	return r.execute(ctx, []*table{t}, loaded)
}

// inOrder returns the segments by the time of their first row in the order that the statement asks for.
func (t *table) inOrder() []catalog.Segment {
	sorted := slices.Clone(t.segments)
	slices.SortFunc(sorted, func(a, b catalog.Segment) int {
		if t.TopN.Descending {
			return cmp.Compare(b.MaxTime, a.MaxTime)
		}
		return cmp.Compare(a.MinTime, b.MinTime)
	})
	return sorted
}

// tries returns how many of the sorted segments each try reads, the first about want rows; the last try, with all of them, is not
// among them.
func (t *table) tries(sorted []catalog.Segment, want int64) []int {
	var out []int
	rows := int64(0)
	for i := range sorted[:len(sorted)-1] {
		rows += t.rows(&sorted[i])
		if rows >= want {
			out = append(out, i+1)
			want = rows * scanGrowth
		}
	}
	return out
}

// before returns the times that come before all rows of a segment in the order asked for.
func (t *table) before(s *catalog.Segment) sqlplan.TimeRange {
	if t.TopN.Descending {
		return sqlplan.TimeRange{Start: s.MaxTime + 1, End: sqlplan.MaxTime}
	}
	return sqlplan.TimeRange{Start: sqlplan.MinTime, End: s.MinTime}
}

// collect runs the statement over one table and holds its rows, of which there are at most maxFirstRows.
func (r *run) collect(ctx context.Context, t *table, loaded map[catalog.DatasetID]*freshTable) (*collected, error) {
	result, err := r.execute(ctx, []*table{t}, loaded)
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
