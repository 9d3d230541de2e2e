package merge

import (
	"cmp"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/millstream/millstream/internal/answer"
)

// truth is a truth of SQL.
type truth int8

const (
	isFalse truth = iota - 1
	isUnknown
	isTrue
)

func truthOf(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

// exactFloat is the greatest whole number up to which each has a float64.
const exactFloat = 1 << 53

// judges reports whether a condition can be judged exactly over these columns. A sum of floats and an average may differ in the last bits
// from those of the whole, and then fall on the other side.
func (g *Groups) judges(c *answer.SplitCondition) bool {
	if c == nil {
		return true
	}
	switch c.Test {
	case answer.TestAnd, answer.TestOr, answer.TestNot:
		for i := range c.Of {
			if !g.judges(&c.Of[i]) {
				return false
			}
		}
		return len(c.Of) > 0
	case answer.TestNull:
		return c.Column < len(g.columns)
	case answer.TestEqual, answer.TestNotEqual, answer.TestLess, answer.TestLessOrEqual, answer.TestGreater, answer.TestGreaterOrEqual:
		return c.Column < len(g.columns) && g.comparable(c)
	default:
		return false
	}
}

// comparable reports whether a column's values compare with a constant here as in the engine.
func (g *Groups) comparable(c *answer.SplitCondition) bool {
	column, merge := g.columns[c.Column], g.merges[c.Column].Merge
	name, _ := column.Metadata.GetValue(answer.TypeKey)
	if c.IsText {
		return name == "VARCHAR" && merge == answer.MergeKey
	}
	switch column.Type.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		return true
	case arrow.DECIMAL128:
		return name == "HUGEINT" && column.scale == 0
	case arrow.FLOAT64:
		return merge != answer.MergeSum && merge != answer.MergeAvg && c.Number >= -exactFloat && c.Number <= exactFloat
	default:
		return false
	}
}

// judge returns the truth of a condition about a row.
func (g *Groups) judge(c *answer.SplitCondition, row []cell) truth {
	switch c.Test {
	case answer.TestAnd:
		out := isTrue
		for i := range c.Of {
			out = min(out, g.judge(&c.Of[i], row))
		}
		return out
	case answer.TestOr:
		out := isFalse
		for i := range c.Of {
			out = max(out, g.judge(&c.Of[i], row))
		}
		return out
	case answer.TestNot:
		return -g.judge(&c.Of[0], row)
	case answer.TestNull:
		return truthOf(row[c.Column].null)
	default:
		return g.compare(c, row[c.Column])
	}
}

func (g *Groups) compare(c *answer.SplitCondition, v cell) truth {
	if v.null {
		return isUnknown
	}
	order := 0
	switch g.columns[c.Column].form {
	case asInt:
		order = cmp.Compare(v.i, c.Number)
	case asFloat:
		order = compareFloats(v.f, float64(c.Number))
	case asDecimal:
		order = v.d.Cmp(decimal128.FromI64(c.Number))
	default:
		order = cmp.Compare(v.s, c.Text)
	}
	switch c.Test {
	case answer.TestEqual:
		return truthOf(order == 0)
	case answer.TestNotEqual:
		return truthOf(order != 0)
	case answer.TestLess:
		return truthOf(order < 0)
	case answer.TestLessOrEqual:
		return truthOf(order <= 0)
	case answer.TestGreater:
		return truthOf(order > 0)
	default:
		return truthOf(order >= 0)
	}
}
