package otlp_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/otlp"
)

// receivedNanos is the time of receipt in tests, 2025-03-10T10:00:00Z.
const receivedNanos = 1_741_600_800_000_000_000

func options() wire.Options { return wire.Options{ReceivedAt: time.Unix(0, receivedNanos)} }

func stream(s signal.Signal) signal.Stream {
	return signal.Stream{Org: "acme", Database: signal.DefaultDatabase, Signal: s, Name: "s"}
}

// decodeFunc is DecodeLogs or one of its kind.
type decodeFunc func([]byte, otlp.Encoding, wire.Options, signal.Stream, wire.Emit) (wire.Result, error)

// decode returns the rows as maps from column to "type text", "_t" being the time in nanoseconds.
func decode(t testing.TB, f decodeFunc, body []byte, enc otlp.Encoding, opts wire.Options) ([]map[string]string, wire.Result, error) {
	t.Helper()
	var rows []map[string]string
	res, err := f(body, enc, opts, stream(signal.Logs), func(b *signal.Batch) error {
		defer b.Release()
		require.NoError(t, signal.CheckRecord(b.Record))
		rows = append(rows, read(b.Record)...)
		return nil
	})
	require.Len(t, rows, res.Accepted)
	return rows, res, err
}

func read(r arrow.RecordBatch) []map[string]string {
	first := signal.FirstField(r.Schema())
	nanos := signal.Nanos(r)
	rows := make([]map[string]string, r.NumRows())
	for i, micros := range signal.Times(r) {
		n := int64(micros) * 1000
		if nanos != nil {
			n += int64(nanos[i])
		}
		rows[i] = map[string]string{"_t": strconv.FormatInt(n, 10)}
	}
	for c := first; c < int(r.NumCols()); c++ {
		f := r.Schema().Field(c)
		typ, _ := signal.FieldType(f)
		for i := range rows {
			if col := r.Column(c); col.IsValid(i) {
				rows[i][f.Name] = typ.String() + " " + cell(col, i)
			}
		}
	}
	return rows
}

func cell(col arrow.Array, i int) string {
	switch x := col.(type) {
	case *array.Timestamp:
		return strconv.FormatInt(int64(x.Value(i)), 10)
	case *array.Float64:
		return strconv.FormatFloat(x.Value(i), 'g', -1, 64)
	default:
		return x.ValueStr(i)
	}
}

func requireInvalid(t testing.TB, err error, text string) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, fault.Invalid, fault.KindOf(err), "%v", err)
	require.Contains(t, fault.Message(err), text)
}
