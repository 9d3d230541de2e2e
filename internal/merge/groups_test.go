package merge_test

import (
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/merge"
)

func field(name, engine string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true, Metadata: arrow.NewMetadata([]string{answer.TypeKey}, []string{engine})}
}

// parts are: level, count, sum as HUGEINT, min, max, avg, then sum and count of the average.
var parts = arrow.NewSchema([]arrow.Field{
	field("level", "VARCHAR", arrow.BinaryTypes.String), field("n", "BIGINT", arrow.PrimitiveTypes.Int64),
	field("s", "HUGEINT", &arrow.Decimal128Type{Precision: 38}), field("low", "DOUBLE", arrow.PrimitiveTypes.Float64),
	field("high", "DOUBLE", arrow.PrimitiveTypes.Float64), field("mean", "DOUBLE", arrow.PrimitiveTypes.Float64),
	field("ms", "DOUBLE", arrow.PrimitiveTypes.Float64), field("mc", "BIGINT", arrow.PrimitiveTypes.Int64),
}, nil)

func spec() *answer.SplitGroups {
	return &answer.SplitGroups{Limit: -1, Columns: []answer.SplitColumn{
		{Merge: answer.MergeKey},
		{Merge: answer.MergeSum},
		{Merge: answer.MergeSum},
		{Merge: answer.MergeMin},
		{Merge: answer.MergeMax},
		{Merge: answer.MergeAvg, Sum: 6, Count: 7},
	}, Hidden: []answer.SplitColumn{{Merge: answer.MergeSum}, {Merge: answer.MergeSum}}}
}

type group struct {
	level string // "" = null
	n     int64
	sum   decimal128.Num
	x     float64 // least, greatest and sum
	null  bool    // instead of x
}

func record(t *testing.T, groups ...group) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, parts)
	defer b.Release()
	for _, g := range groups {
		if g.level == "" {
			b.Field(0).AppendNull()
		} else {
			b.Field(0).(*array.StringBuilder).Append(g.level)
		}
		b.Field(1).(*array.Int64Builder).Append(g.n)
		b.Field(2).(*array.Decimal128Builder).Append(g.sum)
		for i := 3; i < 7; i++ {
			if f := b.Field(i).(*array.Float64Builder); g.null {
				f.AppendNull()
			} else {
				f.Append(g.x)
			}
		}
		b.Field(7).(*array.Int64Builder).Append(map[bool]int64{false: g.n}[g.null])
	}
	return b.NewRecordBatch()
}

func TestGroups(t *testing.T) {
	t.Parallel()
	s := spec()
	s.Order = []answer.SplitOrder{{Column: 0, NullsFirst: true}}
	g, err := merge.NewGroups(s, parts)
	require.NoError(t, err)
	huge := decimal128.FromU64(math.MaxUint64)
	for _, r := range []arrow.RecordBatch{
		record(t, group{"b", 2, huge, 1, false}, group{"", 1, decimal128.FromI64(-5), 7, false}),
		record(t), record(t, group{"a", 3, huge, math.NaN(), false}, group{"b", 2, huge, 3, false}, group{"", 1, decimal128.FromI64(5), 0, true}),
	} {
		require.NoError(t, g.Add(r))
		r.Release()
	}
	out, err := g.Finish()
	require.NoError(t, err)
	defer out.Release()
	require.EqualValues(t, 6, out.NumCols(), "what parts give beyond is gone")
	var rows [][]string
	for i := range int(out.NumRows()) {
		var row []string
		for _, c := range out.Columns() {
			row = append(row, c.ValueStr(i))
		}
		rows = append(rows, row)
	}
	require.Equal(t, [][]string{
		{"(null)", "2", "0", "7", "7", "7"},
		{"a", "3", "18446744073709551615", "NaN", "NaN", "NaN"},
		{"b", "4", "36893488147419103230", "1", "3", "1"},
	}, rows)
}

func TestOrderOffsetAndLimit(t *testing.T) {
	t.Parallel()
	s := spec()
	s.Order, s.Limit, s.Offset = []answer.SplitOrder{{Column: 3, Descending: true}, {Column: 0}}, 2, 1
	g, err := merge.NewGroups(s, parts)
	require.NoError(t, err)
	r := record(t, group{"a", 1, decimal128.Num{}, 0, true}, group{"b", 1, decimal128.Num{}, 5, false},
		group{"c", 1, decimal128.Num{}, 5, false}, group{"d", 1, decimal128.Num{}, math.Inf(1), false},
		group{"e", 1, decimal128.Num{}, math.NaN(), false})
	defer r.Release()
	require.NoError(t, g.Add(r))
	out, err := g.Finish()
	require.NoError(t, err)
	defer out.Release()
	require.Equal(t, "[\"d\" \"b\"]", out.Column(0).(*array.String).String(), "NaN is the greatest, null the last")
}

func TestWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	other := func(i int, engine string, typ arrow.DataType) *arrow.Schema {
		fields := append([]arrow.Field(nil), parts.Fields()...)
		fields[i] = field("x", engine, typ)
		return arrow.NewSchema(fields, nil)
	}
	for name, schema := range map[string]*arrow.Schema{
		"a list as key":        other(0, "BIGINT[]", arrow.ListOf(arrow.PrimitiveTypes.Int64)),
		"an interval as key":   other(0, "INTERVAL", arrow.BinaryTypes.String),
		"a sum of intervals":   other(2, "INTERVAL", arrow.BinaryTypes.String),
		"the least text":       other(3, "VARCHAR", arrow.BinaryTypes.String),
		"an average of times":  other(5, "TIMESTAMP", &arrow.TimestampType{Unit: arrow.Microsecond}),
		"a column is missing":  arrow.NewSchema(parts.Fields()[:3], nil),
		"a count that is none": other(7, "DOUBLE", arrow.PrimitiveTypes.Float64),
	} {
		_, err := merge.NewGroups(spec(), schema)
		require.ErrorIs(t, err, merge.ErrUnsupported, name)
	}
	ordered := spec()
	ordered.Order = []answer.SplitOrder{{Column: 0}}
	_, err := merge.NewGroups(ordered, other(0, "JSON", arrow.BinaryTypes.String))
	require.ErrorIs(t, err, merge.ErrUnsupported, "JSON in order")

	g, err := merge.NewGroups(spec(), parts)
	require.NoError(t, err)
	require.False(t, g.Fits(other(0, "BIGINT", arrow.PrimitiveTypes.Int64)))
	most := decimal128.New(math.MaxInt64, 0) // near the greatest of 128 bits
	r := record(t, group{"a", 1, most, 0, false}, group{"a", 1, most, 0, false})
	defer r.Release()
	require.ErrorIs(t, g.Add(r), merge.ErrUnsupported, "the sum does not fit")
}
