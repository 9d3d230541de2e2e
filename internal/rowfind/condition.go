package rowfind

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
)

// Condition is what a column of a file must fulfil in every wanted row: a comparison with constants, or words. A row without a value
// does not fulfil it.
type Condition struct {
	Column string // physical name in the file
	// Op is a comparison with the constants of the column's type: Ints for integers, timestamps (microseconds) and truth values (0, 1),
	// Floats, or Texts. Empty when Words are asked.
	Op     sqlplan.Op
	Ints   []int64
	Floats []float64
	Texts  [][]byte
	// Words are words that a text must contain.
	Words []sqlplan.Word
}

// fits reports whether the condition can be held against a column.
func (c *Condition) fits(kind parquetfile.Kind) bool {
	text := kind == parquetfile.Text || kind == parquetfile.JSON
	switch {
	case len(c.Words) > 0:
		return text
	case c.Op == sqlplan.IsNotNull:
		return true
	case len(c.Ints) > 0:
		return !text && kind != parquetfile.Float64
	case len(c.Floats) > 0:
		return kind == parquetfile.Float64
	default:
		return text && len(c.Texts) > 0
	}
}

// mayHold reports whether some row of a row group may fulfil the condition, by the group's statistics.
func (c *Condition) mayHold(f *parquetfile.File, group, column int) bool {
	if nulls, ok := f.Nulls(group, column); ok && nulls >= int64(f.Rows(group)) {
		return false
	}
	switch {
	case len(c.Ints) > 0:
		low, high, ok := f.IntBounds(group, column)
		return !ok || slices.ContainsFunc(c.Ints, func(v int64) bool { return c.Op.Possible(cmp.Compare(low, v), cmp.Compare(high, v)) })
	case len(c.Floats) > 0:
		low, high, ok := f.FloatBounds(group, column)
		return !ok || slices.ContainsFunc(c.Floats, func(v float64) bool { return c.Op.Possible(cmp.Compare(low, v), cmp.Compare(high, v)) })
	case len(c.Texts) > 0:
		low, high, ok := f.TextBounds(group, column)
		return !ok || slices.ContainsFunc(c.Texts, func(v []byte) bool {
			return c.Op.Possible(bytes.Compare(low, v), bytes.Compare(high, v))
		})
	default:
		return true
	}
}

// holds tells from how a value compares with a constant whether op is true.
func holds(op sqlplan.Op, order int) bool { return op.Possible(order, order) }

// filter returns the rows, of those given or of all when they are nil, that fulfil the condition. It writes into dst.
func (c *Condition) filter(dst, rows []int32, v *parquetfile.Values) []int32 {
	switch {
	case c.Op == sqlplan.IsNotNull:
		return choose(dst, rows, v, func(int) bool { return true })
	case len(c.Ints) > 0 && len(v.Bools) > 0:
		return choose(dst, rows, v, func(row int) bool {
			var n int64
			if v.Bools[row] {
				n = 1
			}
			return c.int(n)
		})
	case len(c.Ints) > 0:
		return choose(dst, rows, v, func(row int) bool { return c.int(v.Ints[row]) })
	case len(c.Floats) > 0:
		return choose(dst, rows, v, func(row int) bool { return c.float(v.Floats[row]) })
	default:
		return c.texts(dst, rows, v)
	}
}

func (c *Condition) int(n int64) bool {
	for _, k := range c.Ints {
		if holds(c.Op, cmp.Compare(n, k)) {
			return true
		}
	}
	return false
}

// float compares as the engine does: NaN is above all numbers, and the zeros are equal.
func (c *Condition) float(n float64) bool {
	for _, k := range c.Floats {
		order := 1
		if !math.IsNaN(n) {
			order = cmp.Compare(n, k)
		}
		if holds(c.Op, order) {
			return true
		}
	}
	return false
}

// texts looks at every entry of a dictionary once.
func (c *Condition) texts(dst, rows []int32, v *parquetfile.Values) []int32 {
	test := c.textTest()
	t := &v.Texts
	if t.Index == nil {
		if run := longestRun(c.Words); len(run) >= minRun && (rows == nil || len(rows) >= manyRows) {
			return candidates(dst, rows, v, candidate{[]byte(run), test})
		}
		return choose(dst, rows, v, func(row int) bool { return test(t.Entry(row)) })
	}
	const yes, no = 1, 2
	known := make([]byte, len(t.Starts))
	return choose(dst, rows, v, func(row int) bool {
		at := t.Index[row]
		if known[at] == 0 {
			known[at] = no
			if test(t.Entry(int(at))) {
				known[at] = yes
			}
		}
		return known[at] == yes
	})
}

// textTest returns what a text must fulfil. It is used by one goroutine.
func (c *Condition) textTest() func([]byte) bool {
	if len(c.Words) > 0 {
		return newWordTest(c.Words).contains
	}
	return func(text []byte) bool {
		for _, k := range c.Texts {
			if holds(c.Op, bytes.Compare(text, k)) {
				return true
			}
		}
		return false
	}
}

// choose keeps the rows with a value that passes.
func choose(dst, rows []int32, v *parquetfile.Values, pass func(row int) bool) []int32 {
	if rows == nil {
		for row := range v.Rows {
			if v.Has(row) && pass(row) {
				dst = append(dst, int32(row))
			}
		}
		return dst
	}
	for _, row := range rows {
		if v.Has(int(row)) && pass(int(row)) {
			dst = append(dst, row)
		}
	}
	return dst
}

// kindOf returns the kind of a column of a type.
func kindOf(t signal.Type) parquetfile.Kind {
	switch t {
	case signal.Bool:
		return parquetfile.Bool
	case signal.Int64:
		return parquetfile.Int64
	case signal.Float64:
		return parquetfile.Float64
	case signal.String:
		return parquetfile.Text
	case signal.Timestamp:
		return parquetfile.Timestamp
	default:
		return parquetfile.JSON
	}
}
