package merge

import (
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/millstream/millstream/internal/answer"
)

// MaxGroups is the most groups that are held. A part with more rows cannot be added.
const MaxGroups = 200_000

// cellBytes is the memory of a cell without its text.
const cellBytes = int64(unsafe.Sizeof(cell{}))

// Groups collects the rows of parts. It is used by one goroutine.
type Groups struct {
	spec    *answer.SplitGroups
	merges  []answer.SplitColumn // of all of the parts' columns
	schema  *arrow.Schema        // of the parts
	columns []column
	index   map[string]int // by key
	rows    [][]cell
	key     []byte
	bytes   int64
}

// NewGroups returns a Groups without rows for parts of that schema.
func NewGroups(spec *answer.SplitGroups, schema *arrow.Schema) (*Groups, error) {
	g := &Groups{spec: spec, merges: slices.Concat(spec.Columns, spec.Hidden), schema: schema, index: make(map[string]int)}
	for _, f := range schema.Fields() {
		c, err := newColumn(f)
		if err != nil {
			return nil, err
		}
		g.columns = append(g.columns, c)
	}
	if len(g.columns) != len(g.merges) {
		return nil, ErrUnsupported
	}
	for i, s := range g.merges {
		if !g.mergeable(i, s) {
			return nil, ErrUnsupported
		}
	}
	for _, o := range spec.Order {
		if !g.columns[o.Column].ordered {
			return nil, ErrUnsupported
		}
	}
	if !g.judges(spec.Having) {
		return nil, ErrUnsupported
	}
	return g, nil
}

// mergeable reports whether values of a column can be put together.
func (g *Groups) mergeable(i int, s answer.SplitColumn) bool {
	c := g.columns[i]
	isNumber := func(c column) bool {
		switch c.Type.ID() {
		case arrow.INT64, arrow.FLOAT64, arrow.DECIMAL128:
			return true
		default:
			return false
		}
	}
	switch s.Merge {
	case answer.MergeKey:
		return true
	case answer.MergeSum:
		return isNumber(c)
	case answer.MergeMin, answer.MergeMax:
		// Text may be numbers of a column that has become text, whose least and greatest are found among numbers.
		return c.ordered && c.Type.ID() != arrow.STRING
	case answer.MergeAvg:
		return c.Type.ID() == arrow.FLOAT64 && max(s.Sum, s.Count) < len(g.columns) && isNumber(g.columns[s.Sum]) &&
			g.columns[s.Count].Type.ID() == arrow.INT64
	default:
		return false
	}
}

// Fits reports whether a part of that schema can be added.
func (g *Groups) Fits(schema *arrow.Schema) bool { return schema.Equal(g.schema) }

// Add adds rows of a part, which the caller keeps.
func (g *Groups) Add(r arrow.RecordBatch) error {
	if !g.Fits(r.Schema()) {
		return ErrUnsupported
	}
	for row := range int(r.NumRows()) {
		cells := make([]cell, len(g.columns))
		g.key = g.key[:0]
		for i := range g.columns {
			var err error
			if cells[i], err = g.columns[i].read(r.Column(i), row); err != nil {
				return err
			}
			if g.merges[i].Merge == answer.MergeKey {
				g.key = g.columns[i].appendKey(g.key, cells[i])
			}
		}
		at, found := g.index[string(g.key)]
		if !found {
			if len(g.rows) >= MaxGroups {
				return ErrUnsupported
			}
			g.index[string(g.key)] = len(g.rows)
			g.rows = append(g.rows, cells)
			g.bytes += int64(len(g.key))
			for i := range cells {
				g.bytes += cellBytes + int64(len(cells[i].s))
			}
			continue
		}
		if err := g.join(g.rows[at], cells); err != nil {
			return err
		}
	}
	return nil
}

// Bytes returns about how much memory the groups take.
func (g *Groups) Bytes() int64 { return g.bytes }

// join makes one row of two that have the same keys.
func (g *Groups) join(into, from []cell) error {
	for i := range g.columns {
		merge, a, b, c := g.merges[i].Merge, into[i], from[i], &g.columns[i]
		var err error
		switch {
		case merge == answer.MergeSum:
			into[i], err = c.add(a, b)
		case merge == answer.MergeMin && !b.null && (a.null || c.compare(b, a) < 0),
			merge == answer.MergeMax && !b.null && (a.null || c.compare(b, a) > 0):
			into[i] = b
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Finish returns the rows of the answer, sorted and cut. The caller releases them.
func (g *Groups) Finish() (arrow.RecordBatch, error) {
	for _, row := range g.rows {
		for i, s := range g.merges {
			if s.Merge != answer.MergeAvg {
				continue
			}
			sum, count := row[s.Sum], row[s.Count]
			if row[i] = (cell{null: true}); !sum.null && count.i > 0 {
				row[i] = cell{f: g.columns[s.Sum].float(sum) / float64(count.i)}
			}
		}
	}
	if g.spec.Having != nil {
		g.rows = slices.DeleteFunc(g.rows, func(row []cell) bool { return g.judge(g.spec.Having, row) != isTrue })
	}
	slices.SortStableFunc(g.rows, g.order)
	rows := g.rows[min(g.spec.Offset, int64(len(g.rows))):]
	if g.spec.Limit >= 0 {
		rows = rows[:min(g.spec.Limit, int64(len(rows)))]
	}
	schema := arrow.NewSchema(g.schema.Fields()[:len(g.spec.Columns)], nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, row := range rows {
		for i := range g.spec.Columns {
			if err := g.columns[i].appendTo(b.Field(i), row[i]); err != nil {
				return nil, err
			}
		}
	}
	return b.NewRecordBatch(), nil
}

// order compares two rows as the answer sorts them.
func (g *Groups) order(a, b []cell) int {
	for _, o := range g.spec.Order {
		x, y := a[o.Column], b[o.Column]
		result := 0
		switch {
		case x.null && y.null:
			continue
		case x.null || y.null:
			if result = 1; x.null == o.NullsFirst {
				result = -1
			}
			return result
		default:
			result = g.columns[o.Column].compare(x, y)
		}
		if o.Descending {
			result = -result
		}
		if result != 0 {
			return result
		}
	}
	return 0
}
