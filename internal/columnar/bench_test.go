package columnar_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/signal"
)

// logRecords makes records of nine columns with the shape of a service's log: few services, levels and hosts, unique trace ids,
// messages of some 110 bytes that repeat in parts.
func logRecords(rows, perRecord int) []arrow.RecordBatch {
	rng := rand.New(rand.NewPCG(1, 2))
	words := []string{
		"connection", "closed", "by", "remote", "block", "received", "size", "67108864", "from", "session", "opened", "task", "finished",
		"org.apache.spark.storage.BlockManager", "stored", "as", "values", "in", "memory", "(estimated", "user", "root", "worker", "ready",
	}
	levels := []string{"info", "info", "info", "info", "debug", "warn", "error"}
	var out []arrow.RecordBatch
	b := signal.NewBuilder()
	text := func(name, v string) { b.SetString(b.Column([]byte(name)), []byte(v)) }
	for i := range rows {
		b.BeginRow()
		service := rng.IntN(9)
		text("service", fmt.Sprintf("service-%d", service))
		text("level", levels[rng.IntN(len(levels))])
		text("host", fmt.Sprintf("host-%d", rng.IntN(50)))
		text("pod", fmt.Sprintf("service-%d-%d", service, rng.IntN(200)))
		text("trace_id", fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64()))
		b.SetInt64(b.Column([]byte("status")), int64(200+rng.IntN(3)*100))
		b.SetFloat64(b.Column([]byte("duration_ms")), math.Round(math.Exp(rng.NormFloat64()*1.2+3)*1000)/1000)
		message := ""
		for range 12 {
			message += words[rng.IntN(len(words))] + " "
		}
		text("message", fmt.Sprintf("%sreq=%d user=u%d", message, rng.IntN(1<<30), rng.IntN(100_000)))
		b.EndRow(1_760_000_400_000_000_000 + int64(i)*1_200_000)
		if b.Rows() == perRecord {
			out = append(out, b.Finish())
		}
	}
	if r := b.Finish(); r != nil {
		out = append(out, r)
	}
	return out
}

func BenchmarkWriteFile(b *testing.B) {
	const rows = 200_000
	parts := columnar.Split(logRecords(rows, 10_000))
	for _, level := range []int{1, 3} {
		for _, group := range []int{4096, 8192, 16384} {
			b.Run(fmt.Sprintf("zstd-%d/rows-%d", level, group), func(b *testing.B) {
				var cols columns
				path := filepath.Join(b.TempDir(), "f.parquet")
				var size int64
				for b.Loop() {
					size = 0
					info, err := columnar.WriteFile(context.Background(), path, parts[0], cols.lookup,
						columnar.WriteOptions{Segment: 1, RowGroupRows: group, Level: level})
					require.NoError(b, err)
					size += info.Bytes
				}
				b.ReportMetric(float64(size)/rows, "bytes/row")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
			})
		}
	}
}
