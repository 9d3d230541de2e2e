package columnar_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/signal"
)

// value is one cell as a test sees it: nil, bool, int64, float64 (by its bits), string, and a marked text for JSON.
type value any

type (
	jsonText string
	bits     uint64
	micros   int64
)

// row is one row as a test sees it.
type row struct {
	time   int64
	nanos  int16
	fields map[string]value
}

// record builds a record from rows, as decoders do.
func record(rows []row) arrow.RecordBatch {
	b := signal.NewBuilder()
	for _, r := range rows {
		b.BeginRow()
		for name, v := range r.fields {
			set(b, b.Column([]byte(name)), v)
		}
		b.EndRow(r.time*1000 + int64(r.nanos))
	}
	return b.Finish()
}

func set(b *signal.Builder, ref signal.Ref, v value) {
	switch v := v.(type) {
	case bool:
		b.SetBool(ref, v)
	case int64:
		b.SetInt64(ref, v)
	case bits:
		b.SetFloat64(ref, math.Float64frombits(uint64(v)))
	case string:
		b.SetString(ref, []byte(v))
	case jsonText:
		b.SetJSON(ref, []byte(v))
	case micros:
		b.SetTimestamp(ref, int64(v))
	}
}

// rowsOf takes records apart.
func rowsOf(records ...arrow.RecordBatch) []row {
	var out []row
	for _, r := range records {
		times, nanos := signal.Times(r), signal.Nanos(r)
		for i := range int(r.NumRows()) {
			x := row{time: int64(times[i]), fields: map[string]value{}}
			if nanos != nil {
				x.nanos = nanos[i]
			}
			for j := signal.FirstField(r.Schema()); j < int(r.NumCols()); j++ {
				if v := cell(r.Schema().Field(j), r.Column(j), i); v != nil {
					x.fields[r.ColumnName(j)] = v
				}
			}
			out = append(out, x)
		}
	}
	return out
}

func cell(f arrow.Field, a arrow.Array, i int) value {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int64:
		return a.Value(i)
	case *array.Float64:
		return bits(math.Float64bits(a.Value(i)))
	case *array.Timestamp:
		return micros(a.Value(i))
	case *array.String:
		if typ, _ := signal.FieldType(f); typ == signal.JSON {
			return jsonText(a.Value(i))
		}
		return a.Value(i)
	default:
		panic(fmt.Sprintf("unexpected array %T", a))
	}
}

// columns numbers the names of a stream as a catalog would.
type columns struct{ ids map[string]catalog.ColumnID }

func (c *columns) lookup(name string) (catalog.Column, bool) {
	if c.ids == nil {
		c.ids = map[string]catalog.ColumnID{}
	}
	if c.ids[name] == 0 {
		c.ids[name] = catalog.ColumnID(len(c.ids) + 1)
	}
	return catalog.Column{ID: c.ids[name], Name: name, Physical: name}, true
}

func (c *columns) name(id catalog.ColumnID) (string, bool) {
	for n, i := range c.ids {
		if i == id {
			return n, true
		}
	}
	return "", false
}

func readAll(t require.TestingT, path string, names columnar.Names) []row {
	r, err := columnar.OpenReader(path, names)
	require.NoError(t, err)
	var out []row
	for {
		rec, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.NoError(t, signal.CheckRecord(rec))
		out = append(out, rowsOf(rec)...)
		rec.Release()
	}
	require.NoError(t, r.Close())
	return out
}

func genValue(t *rapid.T) value {
	switch rapid.IntRange(0, 7).Draw(t, "type") {
	case 0:
		return rapid.Bool().Draw(t, "bool")
	case 1:
		return rapid.Int64().Draw(t, "int")
	case 2:
		return rapid.Int64Range(0, 3).Draw(t, "small int")
	case 3:
		return bits(math.Float64bits(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
			math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1),
		})).Draw(t, "float")))
	case 4:
		return rapid.SampledFrom([]string{"", "a", "🙂", "é", "GET /", "\x00"}).Draw(t, "word")
	case 5:
		return rapid.String().Draw(t, "text")
	case 6:
		return jsonText(rapid.SampledFrom([]string{"[1,2]", "{}", `"x"`, "null"}).Draw(t, "json"))
	default:
		return micros(rapid.Int64().Draw(t, "timestamp"))
	}
}

func genRow(t *rapid.T, base int64) row {
	r := row{
		time:   base + rapid.Int64Range(0, 59_999_999).Draw(t, "time"),
		nanos:  rapid.SampledFrom([]int16{0, 0, 0, 1, 999}).Draw(t, "nanos"),
		fields: map[string]value{},
	}
	for range rapid.IntRange(0, 4).Draw(t, "fields") {
		r.fields[rapid.SampledFrom([]string{"a", "b", "c", "d e", "Ä"}).Draw(t, "name")] = genValue(t)
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]int64{0, -3_600_000_000, 1_760_000_400_000_000}).Draw(t, "base")
		var want []row
		var records []arrow.RecordBatch
		for range rapid.IntRange(1, 3).Draw(t, "records") {
			var rows []row
			for range rapid.IntRange(1, 40).Draw(t, "rows") {
				rows = append(rows, genRow(t, base))
			}
			records = append(records, record(rows))
			want = append(want, rows...)
		}
		parts := columnar.Split(records)
		require.Len(t, parts, 1)
		var cols columns
		path := filepath.Join(dir, "f.parquet")
		info, err := columnar.WriteFile(context.Background(), path, parts[0], cols.lookup, columnar.WriteOptions{
			Segment: 7, RowGroupRows: rapid.IntRange(1, 50).Draw(t, "row group"), Level: rapid.IntRange(1, 3).Draw(t, "level"),
		})
		require.NoError(t, err)
		require.EqualValues(t, len(want), info.Rows)
		sortRows(want)
		require.Equal(t, want, readAll(t, path, cols.name))
		checkInfo(t, path, info)
	})
}

func checkInfo(t require.TestingT, path string, info columnar.Info) {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.EqualValues(t, len(b), info.Bytes)
	f, err := os.Open(path)
	require.NoError(t, err)
	sum, err := columnar.Checksum(f)
	require.NoError(t, errors.Join(err, f.Close()))
	require.Equal(t, sum, info.Checksum)
}
