package merge_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/merge"
)

func test(t answer.SplitTest, column int, number int64) answer.SplitCondition {
	return answer.SplitCondition{Test: t, Column: column, Number: number}
}

func text(t answer.SplitTest, s string) answer.SplitCondition {
	return answer.SplitCondition{Test: t, Text: s, IsText: true}
}

func of(t answer.SplitTest, list ...answer.SplitCondition) answer.SplitCondition {
	return answer.SplitCondition{Test: t, Of: list}
}

// TestHaving judges groups that were put together of two parts; in SQL a comparison with NULL is unknown, and such a group is left out
// whether or not it is negated.
func TestHaving(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		having answer.SplitCondition
		want   string
	}{
		{test(answer.TestGreater, 1, 2), `["a" "c"]`},
		{test(answer.TestGreaterOrEqual, 1, 2), `["a" "b" "c" (null)]`},
		{test(answer.TestEqual, 1, 2), `["b" (null)]`},
		{test(answer.TestNotEqual, 1, 2), `["a" "c"]`},
		{test(answer.TestLess, 2, 0), `["b"]`},
		{test(answer.TestLessOrEqual, 2, 0), `["b" (null)]`},
		{test(answer.TestGreater, 2, math.MaxInt64), `["a"]`},
		{test(answer.TestLess, 3, 5), `["a" "b"]`},
		{test(answer.TestGreater, 4, 100), `["b" "c"]`},
		{test(answer.TestNull, 3, 0), `[(null)]`},
		{of(answer.TestNot, test(answer.TestNull, 3, 0)), `["a" "b" "c"]`},
		{of(answer.TestNot, test(answer.TestLess, 3, 5)), `["c"]`},
		{of(answer.TestOr, test(answer.TestLess, 3, 5), test(answer.TestEqual, 1, 2)), `["a" "b" (null)]`},
		{of(answer.TestAnd, test(answer.TestLess, 3, 5), test(answer.TestEqual, 1, 2)), `["b"]`},
		{of(answer.TestNot, of(answer.TestAnd, test(answer.TestLess, 3, 5), test(answer.TestEqual, 1, 3))), `["b" "c" (null)]`},
		{text(answer.TestEqual, "b"), `["b"]`},
		{text(answer.TestGreater, "a"), `["b" "c"]`},
		{test(answer.TestGreater, 7, 1), `["a" "b" "c"]`},
	} {
		s := spec()
		s.Having, s.Order = &c.having, []answer.SplitOrder{{Column: 0}}
		g, err := merge.NewGroups(s, parts)
		require.NoError(t, err, "%v", c.having)
		for _, r := range [][]group{
			{{"a", 1, decimal128.FromU64(math.MaxUint64), 3, false}, {"b", 1, decimal128.FromI64(-3), 1, false}, {"", 1, decimal128.Num{}, 0, true}},
			{{"a", 2, decimal128.FromI64(1), 4, false}, {"c", 9, decimal128.FromI64(9), math.NaN(), false}},
			{{"b", 1, decimal128.FromI64(1), math.Inf(1), false}, {"", 1, decimal128.Num{}, 0, true}},
		} {
			record := record(t, r...)
			require.NoError(t, g.Add(record))
			record.Release()
		}
		out, err := g.Finish()
		require.NoError(t, err)
		require.Equal(t, c.want, out.Column(0).(*array.String).String(), fmt.Sprint(c.having))
		out.Release()
	}
}

// TestWhatCannotBeJudged: sums of floats and averages may differ in the last bits, and types whose comparison is the engine's own.
func TestWhatCannotBeJudged(t *testing.T) {
	t.Parallel()
	for name, having := range map[string]answer.SplitCondition{
		"an average":              test(answer.TestGreater, 5, 1),
		"a sum of floats":         test(answer.TestGreater, 6, 1),
		"below something":         of(answer.TestOr, test(answer.TestNull, 0, 0), of(answer.TestNot, test(answer.TestGreater, 5, 1))),
		"text with a number":      test(answer.TestEqual, 0, 1),
		"a number with text":      {Test: answer.TestEqual, Column: 1, Text: "1", IsText: true},
		"beyond a float's":        test(answer.TestEqual, 3, 1<<53+1),
		"no such column":          test(answer.TestEqual, 9, 1),
		"no such test":            test("~", 1, 1),
		"nothing to put together": of(answer.TestAnd),
	} {
		s := spec()
		s.Having = &having
		_, err := merge.NewGroups(s, parts)
		require.ErrorIs(t, err, merge.ErrUnsupported, name)
	}
}
