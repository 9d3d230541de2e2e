package wiretest

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/signal"
)

// TimeKey is the key of a row's event time, nanoseconds since the epoch.
const TimeKey = "_t"

// Row is one row: column name to "type value".
type Row map[string]string

// Collector takes emitted batches, checks their shape and keeps their rows.
type Collector struct {
	T       testing.TB
	Streams []signal.Stream // one a batch
	Sizes   []int           // rows of each batch
	All     []Row
	// Fail, when set, is asked before a batch is taken.
	Fail func(*signal.Batch) error
	// Discard checks batches but keeps no rows.
	Discard bool
}

// Emit is a wire.Emit.
func (c *Collector) Emit(b *signal.Batch) error {
	defer b.Release()
	require.NoError(c.T, signal.CheckRecord(b.Record))
	if c.Fail != nil {
		if err := c.Fail(b); err != nil {
			return err
		}
	}
	c.Streams = append(c.Streams, b.Stream)
	c.Sizes = append(c.Sizes, b.Rows())
	if !c.Discard {
		c.All = append(c.All, Rows(c.T, b.Record)...)
	}
	return nil
}

// Total returns the number of rows taken.
func (c *Collector) Total() int {
	n := 0
	for _, size := range c.Sizes {
		n += size
	}
	return n
}

// Rows reads a record.
func Rows(t testing.TB, r arrow.RecordBatch) []Row {
	t.Helper()
	first := signal.FirstField(r.Schema())
	nanos := signal.Nanos(r)
	out := make([]Row, r.NumRows())
	for i, micros := range signal.Times(r) {
		n := int64(micros) * 1000
		if nanos != nil {
			n += int64(nanos[i])
		}
		out[i] = Row{TimeKey: strconv.FormatInt(n, 10)}
		for j, f := range r.Schema().Fields()[first:] {
			if col := r.Column(first + j); col.IsValid(i) {
				typ, ok := signal.FieldType(f)
				require.True(t, ok)
				require.NotContains(t, out[i], f.Name, "two variants in one row")
				out[i][f.Name] = typ.String() + " " + cell(col, i)
			}
		}
	}
	return out
}

func cell(a arrow.Array, i int) string {
	switch a := a.(type) {
	case *array.Timestamp:
		return strconv.FormatInt(int64(a.Value(i)), 10)
	case *array.Float64:
		return fmt.Sprint(a.Value(i))
	default:
		return a.ValueStr(i)
	}
}
