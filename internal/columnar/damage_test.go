package columnar_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/signal"
)

// TestDamagedFiles reads files with changed bytes or a cut end: an error or rows, never a panic.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(filepath.Join("testdata", "v1.parquet"))
	require.NoError(t, err)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		data := append([]byte(nil), whole...)
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		if rapid.Bool().Draw(t, "cut") {
			data = data[:rapid.IntRange(0, len(data)).Draw(t, "length")]
		}
		path := filepath.Join(dir, "damaged.parquet")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		r, err := columnar.OpenReader(path, nil)
		if err != nil {
			return
		}
		for err == nil {
			rec, nextErr := r.Next(context.Background())
			if err = nextErr; err == nil {
				rec.Release()
			}
		}
		require.NoError(t, r.Close())
	})
}

// TestDamagedMetricsFiles does the same with the reader of series.
func TestDamagedMetricsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "whole.parquet")
	rows := make([]metricRow, 200)
	for i := range rows {
		rows[i] = metricRow{metric: string(rune('a' + i/50)), label: string(rune('a' + i/20)), micros: int64(i), value: float64(i % 7)}
	}
	part := columnar.Part{Records: []arrow.RecordBatch{metricRecord(rows)}}
	_, err := columnar.WriteFile(t.Context(), path, part, columnar.MetricColumn,
		columnar.WriteOptions{Segment: 1, RowGroupRows: 64, Sort: columnar.BySeries})
	require.NoError(t, err)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		data := append([]byte(nil), whole...)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		path := filepath.Join(dir, "damaged.parquet")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		r, err := columnar.OpenSeriesReader(path)
		if err != nil {
			return
		}
		for g := range r.Groups() {
			runs, err := r.Runs(t.Context(), nil, g)
			if err == nil {
				require.Equal(t, r.Rows(g), runs[len(runs)-1].End)
			}
			_, _ = r.Ints(t.Context(), nil, g, signal.TimeColumn)
			_, _, _ = r.Floats(t.Context(), nil, g, signal.ValueColumn)
			_ = r.Texts(t.Context(), g, signal.LabelsColumn, func(int, []byte) {})
			_, _, _ = r.MetricBounds(g)
			_, _, _ = r.Times(g)
		}
		_, _ = r.Labels()
		require.NoError(t, r.Close())
	})
}
