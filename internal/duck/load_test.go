package duck_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/fault"
)

// loadSchema has a column of every type that fresh rows have.
func loadSchema() *arrow.Schema {
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: arrow.BinaryTypes.String}
	fields := []arrow.Field{
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "i16", Type: arrow.PrimitiveTypes.Int16},
		{Name: "i32", Type: arrow.PrimitiveTypes.Int32},
		{Name: "i64", Type: arrow.PrimitiveTypes.Int64},
		{Name: "u64", Type: arrow.PrimitiveTypes.Uint64},
		{Name: "f32", Type: arrow.PrimitiveTypes.Float32},
		{Name: "f64", Type: arrow.PrimitiveTypes.Float64},
		{Name: "s", Type: arrow.BinaryTypes.String},
		{Name: "bin", Type: arrow.BinaryTypes.Binary},
		{Name: `odd "name"`, Type: dict},
		{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
		{Name: "ns", Type: &arrow.TimestampType{Unit: arrow.Nanosecond}},
		{Name: "d", Type: arrow.FixedWidthTypes.Date32},
		{Name: "j", Type: arrow.BinaryTypes.String, Metadata: arrow.NewMetadata([]string{duck.TypeKey}, []string{"JSON"})},
	}
	for i := range fields {
		fields[i].Nullable = true
	}
	return arrow.NewSchema(fields, nil)
}

// loadBatch makes n rows; every seventh value of a column is null, at another row in each column.
func loadBatch(t *testing.T, n int) arrow.RecordBatch {
	t.Helper()
	rb := array.NewRecordBuilder(memory.DefaultAllocator, loadSchema())
	defer rb.Release()
	for r := range n {
		for c, b := range rb.Fields() {
			if (r+c)%7 == 0 {
				b.AppendNull()
				continue
			}
			appendValue(t, b, r)
		}
	}
	return rb.NewRecordBatch()
}

func appendValue(t *testing.T, b array.Builder, r int) {
	t.Helper()
	text := fmt.Sprintf("%d grüße 世界 %s", r, strings.Repeat("x", r%40))[r%3:]
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(r%2 == 0)
	case *array.Int16Builder:
		b.Append(int16(r - 1000))
	case *array.Int32Builder:
		b.Append(math.MinInt32 + int32(r))
	case *array.Int64Builder:
		b.Append(math.MaxInt64 - int64(r))
	case *array.Uint64Builder:
		b.Append(math.MaxUint64 - uint64(r))
	case *array.Float32Builder:
		b.Append(float32(r) / 3)
	case *array.Float64Builder:
		b.Append([]float64{float64(r) / 3, math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, -0.1}[r%5])
	case *array.StringBuilder:
		if b.Type().ID() == arrow.STRING {
			b.Append([]string{text, "", "short", "exactly 12 b", "13 bytes long"}[r%5])
		}
	case *array.BinaryBuilder:
		b.Append([]byte{0, 0xff, byte(r), 'a', 0, 0, 0, 0, 0, 0, 0, 0, 0, byte(r)}[:r%14])
	case *array.BinaryDictionaryBuilder:
		require.NoError(t, b.AppendString("value number "+fmt.Sprint(r%300)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(1_700_000_000_000_000 + int64(r)*1_000_001))
	case *array.Date32Builder:
		b.Append(arrow.Date32(r - 500))
	default:
		t.Fatalf("no value for %T", b)
	}
}

// readAll returns all rows of sql as text.
func readAll(t *testing.T, i *duck.Instance, sql string) [][]string {
	t.Helper()
	cells, _, err := read(t.Context(), i, sql)
	require.NoError(t, err)
	return cells
}

func TestLoadTableIsExact(t *testing.T) {
	t.Parallel()
	i := acquire(t, newPool(t, func(o *duck.Options) { o.Threads = 1 }), "a")
	whole := loadBatch(t, 5000)
	defer whole.Release()
	// A slice, so that offsets are not 0 and not on byte borders; its end is not on a chunk border.
	part := whole.NewSlice(13, 4777)
	defer part.Release()
	empty := whole.NewSlice(0, 0)
	defer empty.Release()
	require.NoError(t, i.LoadTable(t.Context(), `fresh "rows"`, whole.Schema(), []arrow.RecordBatch{empty, part, part}))
	got := readAll(t, i, `SELECT * FROM "fresh ""rows"""`)
	require.Len(t, got, 2*int(part.NumRows()))
	for r, row := range got {
		for c, cell := range row {
			col := part.Column(c)
			require.Equal(t, col.ValueStr(r%int(part.NumRows())), cell, "row %d, column %s", r, part.ColumnName(c))
		}
	}
	// Loading again replaces.
	require.NoError(t, i.LoadTable(t.Context(), `fresh "rows"`, whole.Schema(), nil))
	require.Equal(t, []string{"0"}, readOne(t, i, `SELECT count(*) FROM "fresh ""rows"""`))
}

// Every operator reads what was loaded, projected and filtered as asked: what an Arrow view does not do.
func TestLoadTableUnderOperators(t *testing.T) {
	t.Parallel()
	i := acquire(t, newPool(t, nil), "a")
	const rows = 200_000
	batch := loadBatch(t, rows)
	defer batch.Release()
	require.NoError(t, i.LoadTable(t.Context(), "fresh", batch.Schema(), []arrow.RecordBatch{batch}))
	// without counts the rows in which none of the columns, given by their position, is null.
	without := func(columns ...int) string {
		n := 0
		for r := range rows {
			if !slices.ContainsFunc(columns, func(c int) bool { return (r+c)%7 == 0 }) {
				n++
			}
		}
		return strconv.Itoa(n)
	}
	for sql, want := range map[string]string{
		"SELECT count(*) FROM fresh":                                                                                            without(),
		"SELECT count(i64) FROM fresh WHERE i64 > 9223372036854775807 - 1000":                                                   "857",
		"SELECT count(*) FROM (SELECT s FROM fresh WHERE s IS NOT NULL)":                                                        without(7),
		`SELECT count(DISTINCT "odd ""name""") FROM fresh`:                                                                      "300",
		"SELECT count(*) FROM fresh a JOIN fresh b ON a.i64 = b.i64 AND a.u64 = b.u64":                                          without(3, 4),
		"WITH t AS (SELECT i64, b FROM fresh) SELECT count(*) FROM t WHERE b IS NOT NULL":                                       without(0),
		"WITH t AS MATERIALIZED (SELECT i64, b FROM fresh) SELECT count(*) FROM t x, t y WHERE x.i64 = y.i64 AND x.b = y.b":     without(0, 3),
		"WITH RECURSIVE t(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT count(*) FROM t, fresh WHERE n = 2": without(),
	} {
		require.Equal(t, []string{want}, readOne(t, i, sql), sql)
	}
	require.Len(t, readAll(t, i, "SUMMARIZE SELECT i16, s, ts FROM fresh"), 3)
	const pivot = "SELECT * FROM (SELECT b, i16 FROM fresh WHERE i16 < -900 AND b IS NOT NULL) PIVOT (count(i16) FOR b IN (true, false))"
	require.Len(t, readAll(t, i, pivot), 1)
}

func TestLoadTableRefuses(t *testing.T) {
	t.Parallel()
	i := acquire(t, newPool(t, nil), "a")
	for _, typ := range []arrow.DataType{
		arrow.ListOf(arrow.PrimitiveTypes.Int64), &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, arrow.Null,
	} {
		err := i.LoadTable(t.Context(), "x", arrow.NewSchema([]arrow.Field{{Name: "c", Type: typ}}, nil), nil)
		require.True(t, fault.Is(err, fault.Internal), typ)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.BinaryTypes.String}}, nil)
	rb := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer rb.Release()
	rb.Field(0).(*array.StringBuilder).Append("\xff\xfe")
	bad := rb.NewRecordBatch()
	defer bad.Release()
	require.True(t, fault.Is(i.LoadTable(t.Context(), "x", schema, []arrow.RecordBatch{bad}), fault.Invalid))
	batch := loadBatch(t, 10)
	defer batch.Release()
	require.True(t, fault.Is(i.LoadTable(t.Context(), "x", schema, []arrow.RecordBatch{batch}), fault.Internal))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, i.LoadTable(ctx, "x", batch.Schema(), []arrow.RecordBatch{batch}), context.Canceled)
}

func TestJSONKeepsItsDigits(t *testing.T) {
	t.Parallel()
	i := acquire(t, newPool(t, nil), "a")
	schema := arrow.NewSchema([]arrow.Field{{
		Name: "j", Type: arrow.BinaryTypes.String, Metadata: arrow.NewMetadata([]string{duck.TypeKey}, []string{"JSON"}),
	}}, nil)
	rb := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer rb.Release()
	const doc = `{"n": 12345678901234567890.12345678901234567890, "big": 123456789012345678901234567890}`
	rb.Field(0).(*array.StringBuilder).AppendValues([]string{doc, "not json {"}, nil)
	b := rb.NewRecordBatch()
	defer b.Release()
	require.NoError(t, i.LoadTable(t.Context(), "t", schema, []arrow.RecordBatch{b}))
	cells, s, err := read(t.Context(), i, "SELECT j FROM t WHERE json_valid(j)")
	require.NoError(t, err)
	require.Equal(t, [][]string{{doc}}, cells)
	typ, _ := s.Field(0).Metadata.GetValue(duck.TypeKey)
	require.Equal(t, "JSON", typ)
}
