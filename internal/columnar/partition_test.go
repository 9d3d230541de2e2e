package columnar_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/signal"
)

func at(text string) int64 {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t.UnixMicro()
}

func atTimes(times ...int64) arrow.RecordBatch {
	rows := make([]row, len(times))
	for i, t := range times {
		rows[i] = row{time: t, fields: map[string]value{"n": int64(i)}}
	}
	return record(rows)
}

func TestPartitionOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ time, hour, day, month string }{
		{"2026-11-30T23:59:59Z", "2026-11-30T23:00:00Z", "2026-11-30T00:00:00Z", "2026-11-01T00:00:00Z"},
		{"2026-12-01T00:00:00Z", "2026-12-01T00:00:00Z", "2026-12-01T00:00:00Z", "2026-12-01T00:00:00Z"},
		{"1969-12-31T23:59:59Z", "1969-12-31T23:00:00Z", "1969-12-31T00:00:00Z", "1969-12-01T00:00:00Z"},
		{"1969-12-31T00:00:00Z", "1969-12-31T00:00:00Z", "1969-12-31T00:00:00Z", "1969-12-01T00:00:00Z"},
	} {
		for unit, want := range map[catalog.PartitionUnit]string{catalog.Hour: c.hour, catalog.Day: c.day, catalog.Month: c.month} {
			require.Equal(t, catalog.Partition{Unit: unit, Start: at(want)}, columnar.PartitionOf(at(c.time), unit), c.time)
		}
	}
	require.Equal(t, at("1969-12-31T23:00:00Z"), columnar.PartitionOf(-1, catalog.Hour).Start)
}

func TestSplitOneHourPassesRecordsOn(t *testing.T) {
	t.Parallel()
	a, b := atTimes(at("2026-11-30T10:00:00Z"), at("2026-11-30T10:59:59Z")), atTimes(at("2026-11-30T10:30:00Z"))
	parts := columnar.Split([]arrow.RecordBatch{a, b})
	require.Len(t, parts, 1)
	require.Equal(t, []arrow.RecordBatch{a, b}, parts[0].Records)
	require.Nil(t, parts[0].Rows)
	require.Empty(t, columnar.Split(nil))
}

func TestSplitTakesTheBusiestHours(t *testing.T) {
	t.Parallel()
	var times []int64
	for hour := range 6 { // hour h has h+1 rows
		for i := range hour + 1 {
			times = append(times, at("2026-11-30T00:00:00Z")+int64(hour)*3_600_000_000+int64(i))
		}
	}
	times = append(times, at("2026-11-29T23:59:59Z"))
	parts := columnar.Split([]arrow.RecordBatch{atTimes(times...)})
	var got []catalog.Partition
	var rows []int
	for _, p := range parts {
		got, rows = append(got, p.Partition), append(rows, p.NumRows())
	}
	require.Equal(t, []catalog.Partition{
		{Unit: catalog.Day, Start: at("2026-11-29T00:00:00Z")},
		{Unit: catalog.Day, Start: at("2026-11-30T00:00:00Z")},
		{Unit: catalog.Hour, Start: at("2026-11-30T02:00:00Z")},
		{Unit: catalog.Hour, Start: at("2026-11-30T03:00:00Z")},
		{Unit: catalog.Hour, Start: at("2026-11-30T04:00:00Z")},
		{Unit: catalog.Hour, Start: at("2026-11-30T05:00:00Z")},
	}, got)
	require.Equal(t, []int{1, 3, 3, 4, 5, 6}, rows)
}

func TestSplitKeepsEveryRowOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var want []row
		var records []arrow.RecordBatch
		for range rapid.IntRange(1, 3).Draw(t, "records") {
			var rows []row
			for range rapid.IntRange(1, 30).Draw(t, "rows") {
				r := genRow(t, 0)
				r.time = rapid.Int64Range(-50, 50).Draw(t, "hour") * 3_600_000_000
				r.time += rapid.SampledFrom([]int64{0, 1, 3_599_999_999}).Draw(t, "edge")
				rows = append(rows, r)
			}
			want = append(want, rows...)
			records = append(records, record(rows))
		}
		var cols columns
		var got []row
		hours := 0
		for _, p := range columnar.Split(records) {
			if p.Partition.Unit == catalog.Hour {
				hours++
			}
			path := filepath.Join(dir, "part.parquet")
			info, err := columnar.WriteFile(context.Background(), path, p, cols.lookup, columnar.WriteOptions{Segment: 1, RowGroupRows: 7})
			require.NoError(t, err)
			require.Equal(t, p.Partition, columnar.PartitionOf(info.MinTime, p.Partition.Unit))
			require.Equal(t, p.Partition, columnar.PartitionOf(info.MaxTime, p.Partition.Unit))
			got = append(got, readAll(t, path, cols.name)...)
		}
		require.LessOrEqual(t, hours, columnar.MaxHourParts)
		sortRows(want)
		sortRows(got)
		require.Equal(t, want, got)
	})
}

func TestStatistics(t *testing.T) {
	t.Parallel()
	long := ""
	for range 40 {
		long += "ab"
	}
	rows := []row{
		{time: 5, fields: map[string]value{
			"i": int64(-3), "f": bits(math.Float64bits(1.5)), "s": "b", "b": true, "m": int64(1 << 60), "l": long,
		}},
		{time: 3, fields: map[string]value{"i": int64(9), "f": bits(math.Float64bits(-2)), "s": "a", "t": micros(12), "m": "x", "l": "aa"}},
		{time: 4, fields: map[string]value{"n": bits(math.Float64bits(math.NaN())), "s": "", "m": int64(1<<60 + 1)}},
	}
	var cols columns
	for _, n := range []string{"i", "f", "s", "b", "m", "t", "n", "l"} {
		cols.lookup(n)
	}
	path := filepath.Join(t.TempDir(), "f.parquet")
	info, err := columnar.WriteFile(context.Background(), path, columnar.Split([]arrow.RecordBatch{record(rows)})[0], cols.lookup,
		columnar.WriteOptions{Segment: 3, RowGroupRows: 2})
	require.NoError(t, err)
	require.Equal(t, []catalog.SegmentColumn{
		{ID: 1, Physical: "i", Type: signal.Int64, Nulls: 1, Min: "-3", Max: "9"},
		{ID: 2, Physical: "f", Type: signal.Float64, Nulls: 1, Min: "-2", Max: "1.5"},
		{ID: 3, Physical: "s", Type: signal.String, Min: "", Max: "b", Exact: true},
		{ID: 4, Physical: "b", Type: signal.Bool, Nulls: 2, Min: "true", Max: "true"},
		{ID: 5, Physical: "m", Type: signal.Int64, Nulls: 1, Min: "1152921504606846976", Max: "1152921504606846977"},
		{ID: 5, Physical: "_v.string.m", Type: signal.String, Nulls: 2, Min: "x", Max: "x", Exact: true},
		{ID: 6, Physical: "t", Type: signal.Timestamp, Nulls: 2, Min: "12", Max: "12"},
		{ID: 7, Physical: "n", Type: signal.Float64, Nulls: 2},
		{ID: 8, Physical: "l", Type: signal.String, Nulls: 1, Min: "aa", Max: long[:63] + "c"},
	}, info.Columns)
	require.Equal(t, signal.SetOf(signal.Int64, signal.String)|signal.InexactInt, info.Types[5])
	require.Equal(t, signal.SetOf(signal.Int64), info.Types[1])
	require.Equal(t, [2]int64{3, 5}, [2]int64{info.MinTime, info.MaxTime})
	require.Equal(t, 2, info.RowGroups)
}

func TestThousandColumns(t *testing.T) {
	t.Parallel()
	var rows []row
	for i := range 20 {
		r := row{time: int64(i), fields: map[string]value{}}
		for c := range 1000 {
			r.fields["column-"+string(rune('a'+c%26))+string(rune('0'+c/26))] = int64(i * c)
		}
		rows = append(rows, r)
	}
	var cols columns
	path := filepath.Join(t.TempDir(), "f.parquet")
	_, err := columnar.WriteFile(context.Background(), path, columnar.Split([]arrow.RecordBatch{record(rows)})[0], cols.lookup,
		columnar.WriteOptions{Segment: 1})
	require.NoError(t, err)
	require.Equal(t, rows, readAll(t, path, cols.name))
}

func TestBySeries(t *testing.T) {
	t.Parallel()
	var records []arrow.RecordBatch
	for i := range 2 {
		b := signal.NewBuilder()
		for _, s := range [][3]string{{"up", `{"a":"2"}`, "3"}, {"up", `{"a":"1"}`, "2"}, {"cpu", `{"z":"1"}`, "1"}} {
			b.BeginRow()
			b.SetString(b.OwnColumn(signal.MetricColumn), []byte(s[0]))
			b.SetJSON(b.OwnColumn(signal.LabelsColumn), []byte(s[1]))
			b.SetString(b.Column([]byte("place")), []byte(s[2]))
			b.EndRow(int64(10-i) * 1000)
		}
		records = append(records, b.Finish())
	}
	var cols columns
	path := filepath.Join(t.TempDir(), "f.parquet")
	_, err := columnar.WriteFile(context.Background(), path, columnar.Split(records)[0], cols.lookup,
		columnar.WriteOptions{Segment: 1, Sort: columnar.BySeries})
	require.NoError(t, err)
	var got []value
	for _, r := range readAll(t, path, cols.name) {
		got = append(got, r.fields["place"], r.time)
	}
	require.Equal(t, []value{"1", int64(9), "1", int64(10), "2", int64(9), "2", int64(10), "3", int64(9), "3", int64(10)}, got)
}

func TestWriteFileRefuses(t *testing.T) {
	t.Parallel()
	part := columnar.Split([]arrow.RecordBatch{atTimes(1)})[0]
	unknown := func(string) (catalog.Column, bool) { return catalog.Column{}, false }
	var cols columns
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	path := filepath.Join(t.TempDir(), "f.parquet")
	for name, write := range map[string]func() error{
		"column": func() error {
			return writeErr(context.Background(), path, part, unknown, columnar.WriteOptions{Segment: 1})
		},
		"number": func() error { return writeErr(context.Background(), path, part, cols.lookup, columnar.WriteOptions{}) },
		"empty": func() error {
			return writeErr(context.Background(), path, columnar.Part{}, cols.lookup, columnar.WriteOptions{Segment: 1})
		},
		"cancel": func() error { return writeErr(canceled, path, part, cols.lookup, columnar.WriteOptions{Segment: 1}) },
	} {
		require.Error(t, write(), name)
		require.NoFileExists(t, path, name)
	}
}

func writeErr(ctx context.Context, path string, p columnar.Part, cols columnar.Columns, opts columnar.WriteOptions) error {
	_, err := columnar.WriteFile(ctx, path, p, cols, opts)
	return err
}
