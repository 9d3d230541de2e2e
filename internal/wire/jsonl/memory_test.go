package jsonl_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/jsonl"
)

// TestMemoryIsBounded decodes bodies of 256 MiB that nobody holds and watches the heap at each chunk. It is not parallel, since the
// heap is everybody's.
//
//nolint:paralleltest // see above
func TestMemoryIsBounded(t *testing.T) {
	const (
		total = 256 << 20
		few   = 32 << 20 // of tiny rows, which take longer
		bound = 96 << 20 // a chunk, its builder and what the collector has not taken yet
	)
	line := append(bytes.TrimSuffix(logLine, []byte("\n")), '\n')
	for _, tc := range []struct {
		name  string
		unit  []byte
		total int
		check func(wire.Result)
	}{
		{"lines", line, total, func(r wire.Result) { require.Equal(t, total/len(line), r.Accepted) }},
		{"one line", bytes.Repeat([]byte("x"), 1024), total, func(r wire.Result) {
			require.Equal(t, 1, r.Rejected)
			require.EqualValues(t, total, r.LongestBytes)
		}},
		{"one field a row", []byte("{\"a\":1}\n"), few, func(r wire.Result) { require.Equal(t, few/8, r.Accepted) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("decodes 256 MiB")
			}
			runtime.GC()
			var before, now runtime.MemStats
			runtime.ReadMemStats(&before)
			peak := before.HeapInuse
			size := int64(tc.total / len(tc.unit) * len(tc.unit))
			body := io.LimitReader(&repeated{unit: tc.unit}, size)
			watch := func() {
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapInuse)
			}
			emits := 0
			result, err := jsonl.Decode(body, stream(), wire.Options{ReceivedAt: received}, func(b *signal.Batch) error {
				b.Release()
				if emits++; emits%8 == 1 {
					watch()
				}
				return nil
			})
			watch()
			require.NoError(t, err)
			require.Equal(t, result.Settled, result.Accepted+result.Rejected)
			tc.check(result)
			require.Less(t, peak-before.HeapInuse, uint64(bound))
		})
	}
}

//nolint:gochecknoglobals // a constant
var logLine = []byte(`{"_time":"2026-11-01T00:00:00.001200Z","service":"zookeeper","level":"info","host":"host-4","pod":"zookeeper-82",` +
	`"trace_id":"9d52dfd79bbd6fe34cdcba843ee8d63e","status":200,"duration_ms":171.798,"message":"` +
	`2015-07-30 20:06:22,905 - INFO  [NIOServerCxn.Factory:0.0.0.0/0.0.0.0:2181:NIOServerCnxn@1001] - ` +
	`Closed socket connection for client /10.10.34.11:51097 which had sessionid 0x34ede65503f002f req=463654777 user=u23535"}`)

// repeated is an endless reader.
type repeated struct {
	unit []byte
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		k := copy(p[n:], r.unit[r.at:])
		n += k
		r.at = (r.at + k) % len(r.unit)
	}
	return n, nil
}
