package signal_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/signal"
)

func TestBuilderKeepsEveryTypeOfAField(t *testing.T) {
	t.Parallel()
	b := signal.NewBuilder()
	level := func() signal.Ref { return b.Column([]byte("level")) }
	for i, set := range []func(){
		func() { b.SetFloat64(level(), 3) },
		func() { b.SetBool(level(), false) },
		func() { b.SetString(level(), []byte("false")) },
		func() { b.SetInt64(level(), 0) },
		func() {},
		func() { b.SetJSON(level(), []byte("[1]")) },
	} {
		b.BeginRow()
		set()
		b.EndRow(int64(i))
	}
	r := b.Finish()
	defer r.Release()
	require.NoError(t, signal.CheckRecord(r))
	require.EqualValues(t, 6, r.NumRows())
	var got []string
	for i, f := range r.Schema().Fields()[signal.FirstField(r.Schema()):] {
		typ, ok := signal.FieldType(f)
		require.True(t, ok)
		col := r.Column(i + signal.FirstField(r.Schema()))
		require.Equal(t, 5, col.NullN())
		for row := range int(r.NumRows()) {
			if col.IsValid(row) {
				got = append(got, fmt.Sprintf("%d %s %s %s", row, f.Name, typ, col.ValueStr(row)))
			}
		}
	}
	require.ElementsMatch(t, []string{
		"0 level float64 3", "1 level bool false", "2 level string false", "3 level int64 0", "5 level json [1]",
	}, got)
}

func TestBuilderRenamesFieldsThatLookLikeOurs(t *testing.T) {
	t.Parallel()
	b := signal.NewBuilder()
	for range 2 {
		b.BeginRow()
		b.SetString(b.Column([]byte("_msg")), []byte("a"))
		b.SetString(b.OwnColumn("_labels"), []byte("b"))
		b.SetString(b.Column([]byte("a\xffb")), []byte("c\xff\xfe"))
		b.EndRow(1_000)
	}
	r := b.Finish()
	defer r.Release()
	require.Equal(t, []string{"_timestamp", "_user_msg", "_labels", "a\uFFFDb"}, names(r))
	require.Equal(t, "c\uFFFD\uFFFD", r.Column(3).ValueStr(0))
}

// TestBuilderHintKeepsOwnColumnsApart has the columns in an order that makes our own column the expected one.
func TestBuilderHintKeepsOwnColumnsApart(t *testing.T) {
	t.Parallel()
	b := signal.NewBuilder()
	own := b.OwnColumn("_labels")
	b.BeginRow()
	_, ok := b.Find([]byte("_labels"))
	require.False(t, ok)
	users := b.Column([]byte("_labels"))
	require.NotEqual(t, own, users)
	found, ok := b.Find([]byte("_labels"))
	require.True(t, ok)
	require.Equal(t, users, found)
}

func names(r arrow.RecordBatch) []string {
	var out []string
	for _, f := range r.Schema().Fields() {
		out = append(out, f.Name)
	}
	return out
}

// TestBuilderAgainstModel writes random rows, some of them aborted, and reads them back.
func TestBuilderAgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := signal.NewBuilder()
		for range 2 { // a builder can be used again
			model := fill(t, b)
			r := b.Finish()
			if len(model) == 0 {
				require.Nil(t, r)
				continue
			}
			require.NoError(t, signal.CheckRecord(r))
			require.Equal(t, model, read(r))
			r.Release()
		}
	})
}

func fill(t *rapid.T, b *signal.Builder) []map[string]string {
	var model []map[string]string
	for range rapid.IntRange(0, 40).Draw(t, "rows") {
		b.BeginRow()
		row := map[string]string{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4, rapid.ID).Draw(t, "fields") {
			c := b.Column([]byte(name))
			require.False(t, b.IsSet(c))
			row[name] = setRandom(t, b, c)
			require.True(t, b.IsSet(c))
		}
		if rapid.IntRange(0, 4).Draw(t, "abort") == 0 {
			b.AbortRow()
			continue
		}
		nanos := rapid.Int64Range(-5_000, 5_000).Draw(t, "nanos")
		b.EndRow(nanos)
		row["_t"] = fmt.Sprint(nanos)
		model = append(model, row)
	}
	return model
}

func setRandom(t *rapid.T, b *signal.Builder, c signal.Ref) string {
	switch signal.Type(rapid.IntRange(1, 6).Draw(t, "type")) {
	case signal.Bool:
		v := rapid.Bool().Draw(t, "v")
		b.SetBool(c, v)
		return fmt.Sprint("bool ", v)
	case signal.Int64:
		v := rapid.Int64().Draw(t, "v")
		b.SetInt64(c, v)
		return fmt.Sprint("int64 ", v)
	case signal.Float64:
		v := rapid.Float64().Draw(t, "v")
		b.SetFloat64(c, v)
		return fmt.Sprint("float64 ", v)
	case signal.Timestamp:
		v := rapid.Int64().Draw(t, "v")
		b.SetTimestamp(c, v)
		return fmt.Sprint("timestamp ", v)
	case signal.JSON:
		b.SetJSON(c, []byte(`[1]`))
		return "json [1]"
	default:
		v := rapid.String().Draw(t, "v")
		b.SetString(c, []byte(v))
		return "string " + v
	}
}

func read(r arrow.RecordBatch) []map[string]string {
	first := signal.FirstField(r.Schema())
	nanos := signal.Nanos(r)
	out := make([]map[string]string, r.NumRows())
	for i, micros := range signal.Times(r) {
		n := int64(micros) * 1000
		if nanos != nil {
			n += int64(nanos[i])
		}
		out[i] = map[string]string{"_t": fmt.Sprint(n)}
		for j, f := range r.Schema().Fields()[first:] {
			if col := r.Column(first + j); col.IsValid(i) {
				typ, _ := signal.FieldType(f)
				out[i][f.Name] = typ.String() + " " + value(col, i)
			}
		}
	}
	return out
}

func value(a arrow.Array, i int) string {
	switch a := a.(type) {
	case *array.Int64:
		return fmt.Sprint(a.Value(i))
	case *array.Float64:
		return fmt.Sprint(a.Value(i))
	case *array.Boolean:
		return fmt.Sprint(a.Value(i))
	case *array.Timestamp:
		return fmt.Sprint(int64(a.Value(i)))
	case *array.String:
		return a.Value(i)
	default:
		panic(fmt.Sprintf("column of type %T", a))
	}
}
