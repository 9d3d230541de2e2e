package querier

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/rowfind"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
)

// maxUncounted is how many rows of segments may stand uncounted beside the counted ones: the answer is held in memory.
const maxUncounted = 100_000

// countRows answers a statement that needs counts alone: the rows of segments are counted by their values in front of the engine, which
// runs the statement over the counts. It is nil when the rows cannot be counted so, or too many of them differ; then nothing has changed.
func (r *run) countRows(ctx context.Context, tables []*table, loaded map[catalog.DatasetID]*freshTable, s *state) (rows, error) {
	if r.plan.Counts == nil || len(tables) != 1 || !r.searchable(tables[0]) || !tables[0].countable() || tables[0].narrow() {
		return nil, nil
	}
	t := *tables[0]
	t.time, t.counted = t.time.Intersect(r.plan.Counts.Time), true
	whole, known := t.knownCounts(r.plan.Counts)
	found, ok, err := r.countSegments(ctx, &t, whole)
	if err != nil || !ok {
		return nil, err
	}
	if known > 0 {
		found = append(found, countRecord(known))
	}
	defer releaseAll(found)
	if t.found, err = r.loadFound(ctx, found, "ms_counted"); err != nil {
		return nil, err
	}
	statement, err := r.plan.Counts.SQL(ctx)
	if err != nil {
		return nil, err
	}
	out, err := r.collect(ctx, statement, &t, loaded)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		r.querier.deps.Logger.Debug("counts do not answer a statement; it runs as it was written", "org", string(r.request.Org), "error", err)
		return nil, nil // and fails with the words for it, if it does
	}
	r.count([]*table{&t}, s)
	return out, nil
}

// countable reports whether the values of all columns can be counted by.
func (t *table) countable() bool {
	return !slices.ContainsFunc(t.columns(), func(c column) bool {
		return c.label || c.tenant || c.ID == 0 || c.typ == signal.JSON
	})
}

// knownCounts takes the segments out of the table whose counts the catalog knows, since all of their rows count and none of their values
// matter.
func (t *table) knownCounts(c *sqlplan.Counts) (whole []catalog.Segment, rows int64) {
	if len(t.columns()) > 0 || c.Unit > 0 {
		return nil, 0
	}
	left := make([]catalog.Segment, 0, len(t.segments))
	for _, s := range t.segments {
		if !t.allCount(&s) {
			left = append(left, s)
			continue
		}
		whole, rows = append(whole, s), rows+s.Rows
	}
	t.segments = left
	return whole, rows
}

// countSegments counts the rows of the segments that have each column in its type of today, and leaves the others in the table.
func (r *run) countSegments(ctx context.Context, t *table, whole []catalog.Segment) (found []arrow.RecordBatch, ok bool, err error) {
	columns := t.columns()
	var counted, left []catalog.Segment
	for _, s := range t.segments {
		if slices.ContainsFunc(columns, func(c column) bool {
			v := variantsOf(&s, c, false)
			return len(v) > 1 || len(v) == 1 && v[0].typ != c.typ
		}) {
			left = append(left, s)
		} else {
			counted = append(counted, s)
		}
	}
	t.segments = counted
	if len(counted) > 0 {
		search, err := r.search(ctx, t, rowfind.Unordered, r.plan.Counts.Unit)
		if err != nil {
			return nil, false, err
		}
		defer search.Close() //nolint:errcheck // read only
		c, ok, err := search.Count(ctx)
		if fault.Is(err, fault.Unsupported) {
			return nil, false, nil // the engine reads it
		}
		if err != nil {
			return nil, false, fmt.Errorf("count rows: %w", err)
		}
		if !ok {
			return nil, false, nil
		}
		for _, i := range c.Left {
			left = append(left, counted[i])
		}
		if c.Record != nil {
			found = append(found, c.Record)
		}
		t.searched.add(search.Stats())
	}
	var rows int64 // that the engine reads, whose combinations nothing bounds
	for i := range left {
		rows += t.rows(&left[i])
	}
	if rows > maxUncounted {
		releaseAll(found)
		return nil, false, nil
	}
	t.searched.segments = slices.Concat(whole, without(counted, left))
	t.segments = left
	return found, true, nil
}

// countRecord is a record that stands for so many rows whose values do not matter.
func countRecord(rows int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: signal.TimeColumn, Type: signal.TimestampType}, signal.Int64.Field(sqlplan.CountColumn),
	}, nil))
	defer b.Release()
	b.Field(0).(*array.TimestampBuilder).Append(0) //nolint:forcetypeassert // made above
	b.Field(1).(*array.Int64Builder).Append(rows)  //nolint:forcetypeassert // made above
	return b.NewRecordBatch()
}
