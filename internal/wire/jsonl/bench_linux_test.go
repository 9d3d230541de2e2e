package jsonl_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/jsonl"
)

// logLines makes JSON lines of nine fields and about 380 bytes, like those of a service's log.
func logLines(rows int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	services := []string{"hdfs", "openstack", "spark", "zookeeper", "openssh"}
	levels := []string{"info", "info", "info", "debug", "warn", "error"}
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	for i := range rows {
		service := services[r.IntN(len(services))]
		at := start.Add(time.Duration(i) * 1200 * time.Microsecond).Format("2006-01-02T15:04:05.000000Z")
		fmt.Fprintf(&b, `{"_time":"%s","service":"%s","level":"%s",`, at, service, levels[r.IntN(len(levels))])
		fmt.Fprintf(&b, `"host":"host-%d","pod":"%s-%d","trace_id":"%016x%016x",`, r.IntN(50), service, r.IntN(200), r.Uint64(), r.Uint64())
		fmt.Fprintf(&b, `"status":%d,"duration_ms":%.3f,`, 200+r.IntN(2)*204, math.Exp(r.NormFloat64()*1.2+3))
		fmt.Fprintf(&b, `"message":"2015-07-30 20:06:22,905 - INFO  [NIOServerCxn.Factory:0.0.0.0/0.0.0.0:2181:NIOServerCnxn@1001] - `+
			`Closed connection for client /10.10.34.%d:51097 with id 0x%x req=%d user=u%d"}`+"\n",
			r.IntN(256), r.Uint64(), r.IntN(1<<30), r.IntN(100_000))
	}
	return b.Bytes()
}

func BenchmarkDecode(b *testing.B) {
	const rows = 100_000
	body := logLines(rows)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		result, err := jsonl.Decode(bytes.NewReader(body), stream(), wire.Options{ReceivedAt: received}, func(batch *signal.Batch) error {
			batch.Release()
			return nil
		})
		require.NoError(b, err)
		require.Equal(b, rows, result.Accepted)
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(rows*b.N), "cpu-ns/row")
}

// cpuTime returns the processor time of this process, which other work on the machine does not lengthen.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
