package sqlplan

import (
	"strconv"

	"github.com/millstream/millstream/internal/answer"
)

// having reads the condition on groups, which is met by rows that were put together. It is false for one that is not certain to mean the
// same here as in the engine: comparisons of an aggregate or a key with a whole number or a text, IS NULL, and what AND, OR and NOT make of
// them. Whether the types fit is seen when the parts come.
func (s *splitter) having() bool {
	h := s.root.sub("having")
	if h == nil {
		return true
	}
	c, ok := s.condition(h)
	s.out.Having = &c
	return ok
}

func (s *splitter) condition(e node) (answer.SplitCondition, bool) {
	switch e.kind() {
	case "CONJUNCTION_AND":
		return s.allOf(answer.TestAnd, nodesOf(e.list("children")))
	case "CONJUNCTION_OR":
		return s.allOf(answer.TestOr, nodesOf(e.list("children")))
	case "OPERATOR_NOT":
		return s.allOf(answer.TestNot, nodesOf(e.list("children")))
	case "OPERATOR_IS_NULL":
		return s.isNull(e)
	case "OPERATOR_IS_NOT_NULL":
		c, ok := s.isNull(e)
		return answer.SplitCondition{Test: answer.TestNot, Of: []answer.SplitCondition{c}}, ok
	case "COMPARE_BETWEEN":
		from, ok := s.compare(answer.TestGreaterOrEqual, e.sub("input"), e.sub("lower"))
		to, fits := s.compare(answer.TestLessOrEqual, e.sub("input"), e.sub("upper"))
		return answer.SplitCondition{Test: answer.TestAnd, Of: []answer.SplitCondition{from, to}}, ok && fits
	}
	tests, ok := comparisons[e.kind()]
	if !ok {
		return answer.SplitCondition{}, false
	}
	if c, ok := s.compare(tests.left, e.sub("left"), e.sub("right")); ok {
		return c, true
	}
	return s.compare(tests.right, e.sub("right"), e.sub("left"))
}

// comparisons are the tests of a column on the left and of one on the right.
var comparisons = map[string]struct{ left, right answer.SplitTest }{ //nolint:gochecknoglobals // a table
	"COMPARE_EQUAL":                {answer.TestEqual, answer.TestEqual},
	"COMPARE_NOTEQUAL":             {answer.TestNotEqual, answer.TestNotEqual},
	"COMPARE_LESSTHAN":             {answer.TestLess, answer.TestGreater},
	"COMPARE_LESSTHANOREQUALTO":    {answer.TestLessOrEqual, answer.TestGreaterOrEqual},
	"COMPARE_GREATERTHAN":          {answer.TestGreater, answer.TestLess},
	"COMPARE_GREATERTHANOREQUALTO": {answer.TestGreaterOrEqual, answer.TestLessOrEqual},
}

func (s *splitter) allOf(test answer.SplitTest, children []node) (c answer.SplitCondition, ok bool) {
	c.Test = test
	for _, e := range children {
		one, ok := s.condition(e)
		if !ok {
			return c, false
		}
		c.Of = append(c.Of, one)
	}
	return c, len(c.Of) > 0
}

func (s *splitter) isNull(e node) (c answer.SplitCondition, ok bool) {
	children := nodesOf(e.list("children"))
	if len(children) != 1 {
		return c, false
	}
	c.Test = answer.TestNull
	c.Column, ok = s.grouped(children[0])
	return c, ok
}

// compare reads the comparison of a column with a constant.
func (s *splitter) compare(test answer.SplitTest, column, constant node) (c answer.SplitCondition, ok bool) {
	typ, text, ok := constantValue(constant)
	if !ok {
		return c, false
	}
	c.Test = test
	switch typ {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return c, false
		}
		c.Number = n
	case "VARCHAR":
		c.Text, c.IsText = text, true
	default:
		return c, false
	}
	c.Column, ok = s.grouped(column)
	return c, ok
}

// grouped returns the column of an aggregate or a key. A name that is an item's alias is left to the engine: it may mean that or a column.
// So are keys under GROUP BY ALL, which makes groups of the columns that it finds in HAVING.
func (s *splitter) grouped(e node) (column int, ok bool) {
	if _, _, constant := constantValue(e); constant || s.aliased(e) >= 0 {
		return 0, false
	}
	column = s.columnOf(e)
	if column >= 0 && column < len(s.items) && s.out.Columns[column].Merge == answer.MergeKey &&
		s.root.str("aggregate_handling") == "FORCE_AGGREGATES" {
		return 0, false
	}
	return column, column >= 0
}
