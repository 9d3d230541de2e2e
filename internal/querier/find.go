package querier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/rowfind"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
)

// Bounds of what is read in front of the engine. A statement that needs more is better served by the engine's own scan.
const (
	maxFoundRows  = 10_000
	maxFoundBytes = 8 << 20
)

// searchable reports whether the rows of a table can be looked for in front of the engine.
func (r *run) searchable(t *table) bool {
	return r.querier.footers != nil && !r.several() && !t.stream.isMetric() && !t.empty && len(t.segments) > 0 && !t.names(signal.BlockColumn)
}

// findRows reads the rows that each table needs of its segments where they are few, into a temporary table. What is left of the segments
// is what the engine reads.
func (r *run) findRows(ctx context.Context, tables []*table, s *state) error {
	found := false
	for i, t := range tables {
		if !r.searchable(t) || !t.selective() {
			continue
		}
		if err := r.findIn(ctx, t, "ms_found_"+strconv.Itoa(i)); err != nil {
			return err
		}
		found = true
	}
	if found {
		r.count(tables, s)
	}
	return nil
}

// selective reports whether a search has anything to go by.
func (t *table) selective() bool {
	return slices.ContainsFunc(t.segments, func(s catalog.Segment) bool { return len(t.judged(&s)) > 0 })
}

func (r *run) findIn(ctx context.Context, t *table, name string) error {
	search, err := r.search(ctx, t, rowfind.Unordered, 0)
	if err != nil {
		return err
	}
	defer search.Close() //nolint:errcheck // read only
	found, err := search.All(ctx)
	if fault.Is(err, fault.Unsupported) {
		return nil // the engine reads it
	}
	if err != nil {
		return fmt.Errorf("look for rows: %w", err)
	}
	records := recordsOf(found)
	defer releaseAll(records)
	if t.found, err = r.loadFound(ctx, records, name); err != nil {
		return err
	}
	t.searched.add(search.Stats())
	left := make([]catalog.Segment, 0, len(found.Left))
	for _, i := range found.Left {
		left = append(left, t.segments[i])
	}
	t.searched.segments = without(t.segments, left)
	t.segments = left
	return nil
}

// without returns the segments that are not among others.
func without(segments, others []catalog.Segment) []catalog.Segment {
	return slices.DeleteFunc(slices.Clone(segments), func(s catalog.Segment) bool {
		return slices.ContainsFunc(others, func(o catalog.Segment) bool { return o.ID == s.ID })
	})
}

// search opens a search over the segments of a table. unit is rowfind.Query's.
func (r *run) search(ctx context.Context, t *table, order rowfind.Order, unit int64) (*rowfind.Search, error) {
	paths, err := r.pin(ctx, []*table{t})
	if err != nil {
		return nil, err
	}
	useful := t.time.Intersect(t.Time)
	q := rowfind.Query{
		Start: useful.Start, End: useful.End, Order: order, Nanos: t.names(signal.NanosColumn), MaxRows: maxFoundRows, MaxBytes: maxFoundBytes,
		Unit: unit,
	}
	columns := t.columns()
	places := make(map[rowfind.Field]int)
	for i := range t.segments {
		s := &t.segments[i]
		f := rowfind.File{Path: paths[s.ID], ID: int64(s.ID), Groups: t.blocks[s.ID], Slices: t.slices[s.ID], Conditions: t.judged(s)}
		for _, c := range columns {
			for _, v := range variantsOf(s, c, false) {
				field := rowfind.Field{Name: c.Name, Type: v.typ}
				at, ok := places[field]
				if !ok {
					at = len(places)
					places[field] = at
					q.Fields = append(q.Fields, field)
				}
				f.Columns = append(f.Columns, make([]string, max(0, at+1-len(f.Columns)))...)
				f.Columns[at] = v.name
			}
		}
		q.Files = append(q.Files, f)
	}
	for i := range q.Files {
		q.Files[i].Columns = append(q.Files[i].Columns, make([]string, len(q.Fields)-len(q.Files[i].Columns))...)
	}
	search, err := rowfind.New(r.querier.footers, q)
	if err != nil {
		return nil, fmt.Errorf("look for rows: %w", err)
	}
	return search, nil
}

// loadFound copies found rows into a temporary table. It is nil without rows.
func (r *run) loadFound(ctx context.Context, found []arrow.RecordBatch, name string) (*freshTable, error) {
	if len(found) == 0 {
		return nil, nil
	}
	all := freshFilter{time: sqlplan.TimeRange{Start: sqlplan.MinTime, End: sqlplan.MaxTime}, columns: make(map[string]bool)}
	t := &freshTable{name: name, filter: all}
	for _, record := range found {
		t.rows += record.NumRows()
		for _, f := range record.Schema().Fields() {
			all.columns[f.Name] = true
		}
	}
	t.layOut(found)
	schema := t.schema()
	batches := make([]arrow.RecordBatch, len(found))
	defer func() { releaseAll(batches) }()
	for i, record := range found {
		batches[i] = t.batch(schema, record)
	}
	if err := r.instance.LoadTable(ctx, name, schema, batches); err != nil {
		return nil, fmt.Errorf("copy found rows: %w", err)
	}
	return t, nil
}

// recordsOf returns the record of found rows, if there are any.
func recordsOf(found *rowfind.Found) []arrow.RecordBatch {
	if found.Record == nil {
		return nil
	}
	return []arrow.RecordBatch{found.Record}
}

// findFirst answers a statement for the first rows in time from the rows that a search finds first. It is nil when that does not
// succeed within the bounds.
func (r *run) findFirst(ctx context.Context, t *table, loaded map[catalog.DatasetID]*freshTable, s *state) (_ rows, err error) {
	order := rowfind.Oldest
	if t.TopN.Descending {
		order = rowfind.Newest
	}
	search, err := r.search(ctx, t, order, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, search.Close()) }()
	for want := t.wantedFirst(); want <= maxFoundRows; want *= scanGrowth {
		found, ok, err := search.First(ctx, want)
		if fault.Is(err, fault.Unsupported) {
			return nil, nil // the engine reads it
		}
		if err != nil {
			return nil, fmt.Errorf("look for rows: %w", err)
		}
		if !ok {
			return nil, nil
		}
		part := *t
		part.segments, part.time = nil, t.time.Intersect(sqlplan.TimeRange{Start: found.Start, End: found.End})
		records := recordsOf(found)
		part.found, err = r.loadFound(ctx, records, "ms_found_0")
		releaseAll(records)
		if err != nil {
			return nil, err
		}
		out, err := r.collect(ctx, r.plan.SQL, &part, loaded)
		if err != nil {
			return nil, err
		}
		if out.rows == t.TopN.Rows-t.TopN.Offset || found.Complete {
			part.searched.segments = t.segments
			part.searched.add(search.Stats())
			r.count([]*table{&part}, s)
			return out, nil
		}
		if err := out.Close(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// wantedFirst returns how many rows to look for at first: conditions that a search cannot judge may drop some of them.
func (t *table) wantedFirst() int {
	if !t.TopN.Filtered {
		return int(t.TopN.Rows)
	}
	return int(2*t.TopN.Rows) + 64
}

// searched is what was read in front of the engine.
type searched struct {
	segments  []catalog.Segment
	rowGroups int
	rows      int64
	bytes     int64
}

func (x *searched) add(s rowfind.Stats) {
	x.rowGroups += s.RowGroups
	x.rows += s.Rows
	x.bytes += s.Bytes
}

// judged returns what every row of a segment that the statement can use fulfils, as far as the file's columns can be held against
// it: those that it has in one type that is today's.
func (t *table) judged(s *catalog.Segment) []rowfind.Condition {
	var out []rowfind.Condition
	for _, p := range t.Predicates {
		if x := t.only(s, p.Column); x != nil {
			if c, ok := comparison(x, p); ok {
				out = append(out, c)
			}
		}
	}
	for _, w := range t.Words {
		x := t.only(s, w.Column)
		if x != nil && (x.Type == signal.String || x.Type == signal.JSON) && len(w.Words) > 0 {
			out = append(out, rowfind.Condition{Column: x.Physical, Words: w.Words})
		}
	}
	return out
}

// only returns the column of a segment that holds all values of a column, if its type is today's; else nil.
func (t *table) only(s *catalog.Segment, name string) *catalog.SegmentColumn {
	c, ok := t.stream.find(name)
	if !ok || c.label || c.tenant || c.ID == 0 {
		return nil
	}
	var found *catalog.SegmentColumn
	for i := range s.Columns {
		if s.Columns[i].ID != c.ID {
			continue
		}
		if found != nil || s.Columns[i].Type != c.typ {
			return nil
		}
		found = &s.Columns[i]
	}
	return found
}

// comparison puts a predicate into the terms of a file. It is not ok for constants of another type than the column's.
func comparison(x *catalog.SegmentColumn, p sqlplan.Predicate) (rowfind.Condition, bool) {
	c := rowfind.Condition{Column: x.Physical, Op: p.Op}
	for _, v := range p.Values {
		switch {
		case x.Type == signal.Int64 && v.Type == "BIGINT":
			n, err := strconv.ParseInt(v.Text, 10, 64)
			if err != nil {
				return c, false
			}
			c.Ints = append(c.Ints, n)
		case x.Type == signal.Float64 && v.Type == "DOUBLE":
			n, err := strconv.ParseFloat(v.Text, 64)
			if err != nil {
				return c, false
			}
			c.Floats = append(c.Floats, n)
		case x.Type == signal.Timestamp && v.Type == "TIMESTAMP WITH TIME ZONE":
			c.Ints = append(c.Ints, v.Micros)
		case x.Type == signal.String && v.Type == "VARCHAR":
			c.Texts = append(c.Texts, []byte(v.Text))
		default:
			return c, false
		}
	}
	return c, p.Op == sqlplan.IsNotNull || len(p.Values) > 0
}
