package columnar_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/signal"
)

// seriesFile writes a metrics file of a million samples, 122 row groups.
func seriesFile(b *testing.B) string {
	b.Helper()
	const series, samples = 2777, 360
	var rows []metricRow
	for s := range series {
		for i := range samples {
			rows = append(rows, metricRow{
				metric: fmt.Sprint("metric_", s/100), label: fmt.Sprint("instance-", s), micros: 1_760_000_000_000_000 + int64(i)*10_000_000,
				value: float64(s*i%977) * 1.5,
			})
		}
	}
	path := filepath.Join(b.TempDir(), "series.parquet")
	parts := columnar.Split([]arrow.RecordBatch{metricRecord(rows)})
	_, err := columnar.WriteFile(context.Background(), path, parts[0], columnar.MetricColumn,
		columnar.WriteOptions{Segment: 1, Sort: columnar.BySeries})
	require.NoError(b, err)
	return path
}

// BenchmarkOpen reads the footer of a metrics file, alone and with the label runs of one row group or of all.
func BenchmarkOpen(b *testing.B) {
	path := seriesFile(b)
	for _, groups := range []int{0, 1, 1000} {
		b.Run(fmt.Sprintf("SeriesReader/groups-%d", groups), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := columnar.OpenSeriesReader(path)
				require.NoError(b, err)
				for g := range min(groups, r.Groups()) {
					_, err := r.Runs(b.Context(), nil, g)
					require.NoError(b, err)
				}
				require.NoError(b, r.Close())
			}
		})
		b.Run(fmt.Sprintf("parquetfile/groups-%d", groups), func(b *testing.B) {
			b.ReportAllocs()
			decoder, err := parquetfile.NewDecoder()
			require.NoError(b, err)
			var metrics, labels parquetfile.Values
			var runs []parquetfile.Run
			for b.Loop() {
				f, err := os.Open(path)
				require.NoError(b, err)
				stat, err := f.Stat()
				require.NoError(b, err)
				p, err := parquetfile.ReadFooter(f, stat.Size())
				require.NoError(b, err)
				for g := range min(groups, p.Groups()) {
					require.NoError(b, decoder.Read(f, p, g, p.Column(signal.MetricColumn), &metrics))
					require.NoError(b, decoder.Read(f, p, g, p.Column(signal.LabelsColumn), &labels))
					runs = metrics.Runs(runs[:0])
					runs = labels.Runs(runs[:0])
				}
				require.NoError(b, f.Close())
			}
		})
	}
}

// BenchmarkMessages reads the messages of a log, which have no dictionary.
func BenchmarkMessages(b *testing.B) {
	var cols columns
	path := filepath.Join(b.TempDir(), "f.parquet")
	parts := columnar.Split(logRecords(100_000, 10_000))
	_, err := columnar.WriteFile(context.Background(), path, parts[0], cols.lookup, columnar.WriteOptions{Segment: 1})
	require.NoError(b, err)
	f, err := os.Open(path)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, f.Close()) })
	stat, err := f.Stat()
	require.NoError(b, err)
	p, err := parquetfile.ReadFooter(f, stat.Size())
	require.NoError(b, err)
	decoder, err := parquetfile.NewDecoder()
	require.NoError(b, err)
	for _, name := range []string{"message", "trace_id", "service", "duration_ms"} {
		b.Run(name, func(b *testing.B) {
			var v parquetfile.Values
			for b.Loop() {
				require.NoError(b, decoder.Read(f, p, 0, p.Column(name), &v))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(v.Rows), "ns/row")
		})
	}
}
