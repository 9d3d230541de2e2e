package columnar_test

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/signal"
)

// metricRow is one sample.
type metricRow struct {
	metric, label string
	micros        int64
	value         float64
	version       int64 // expected in the merged file
}

func metricRecord(rows []metricRow) arrow.RecordBatch {
	b := signal.NewBuilder()
	m := signal.NewMetricBuilder(b)
	for _, r := range rows {
		var labels signal.LabelSet
		labels.Add([]byte("l"), []byte(r.label))
		m.Append(&signal.Sample{Name: []byte(r.metric), Labels: &labels, Nanos: r.micros * 1000, Value: r.value, HasValue: true})
	}
	return b.Finish()
}

func genMetricRow(t *rapid.T) metricRow {
	return metricRow{
		metric: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "metric"), label: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "label"),
		micros: rapid.Int64Range(0, 5).Draw(t, "time"), value: rapid.Float64Range(0, 9).Draw(t, "value"),
	}
}

// readSeries reads a metrics file back by its runs.
func readSeries(t tester, path string) []metricRow {
	r, err := columnar.OpenSeriesReader(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	var out []metricRow
	for g := range r.Groups() {
		runs, err := r.Runs(t.Context(), nil, g)
		require.NoError(t, err)
		times, err := r.Ints(t.Context(), nil, g, signal.TimeColumn)
		require.NoError(t, err)
		values, present, err := r.Floats(t.Context(), nil, g, signal.ValueColumn)
		require.NoError(t, err)
		require.Nil(t, present)
		versions := make([]int64, len(times))
		if r.Has(signal.VersionColumn) {
			versions, err = r.Ints(t.Context(), nil, g, signal.VersionColumn)
			require.NoError(t, err)
		}
		least, greatest, ok := r.MetricBounds(g)
		require.True(t, ok)
		row := 0
		for _, run := range runs {
			require.Equal(t, row, run.Start, "runs cover the row group")
			require.True(t, least <= run.Metric && run.Metric <= greatest)
			for ; row < run.End; row++ {
				label := ""
				if run.Labels != "{}" {
					label = run.Labels[len(`{"l":"`) : len(run.Labels)-2]
				}
				out = append(out, metricRow{run.Metric, label, times[row], values[row], versions[row]})
			}
		}
		require.Equal(t, r.Rows(g), row)
	}
	return out
}

// tester is what rapid.T and testing.T share.
type tester interface {
	require.TestingT
	Context() context.Context
}

// TestMergeBySeries merges random files, then the result with others, and compares with a map.
func TestMergeBySeries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		type key struct {
			metric, label string
			micros        int64
		}
		want := make(map[key]metricRow)
		var sources []columnar.Source
		total := int64(0)
		files := rapid.IntRange(1, 6).Draw(t, "files")
		mergeAt := rapid.IntRange(0, files).Draw(t, "merge at")
		merge := func(to string, id catalog.SegmentID) columnar.Info {
			group := rapid.IntRange(1, 9).Draw(t, "group")
			info, err := columnar.Merge(t.Context(), to, sources, columnar.WriteOptions{Segment: id, RowGroupRows: group, Sort: columnar.BySeries})
			require.NoError(t, err)
			require.Equal(t, total, info.Rows+info.Duplicates)
			return info
		}
		for i := range files {
			rows := rapid.SliceOfN(rapid.Custom(genMetricRow), 1, 20).Draw(t, "rows")
			segment := catalog.SegmentID(10 + i)
			for _, r := range rows {
				r.version = int64(segment)
				want[key{r.metric, r.label, r.micros}] = r
			}
			path := filepath.Join(dir, fmt.Sprintf("source%d", i))
			opts := columnar.WriteOptions{Segment: segment, RowGroupRows: rapid.IntRange(1, 5).Draw(t, "source group"), Sort: columnar.BySeries}
			part := columnar.Part{Records: []arrow.RecordBatch{metricRecord(rows)}}
			info, err := columnar.WriteFile(t.Context(), path, part, columnar.MetricColumn, opts)
			require.NoError(t, err)
			require.EqualValues(t, len(rows), info.Rows+info.Duplicates)
			require.Equal(t, lastOfEach(rows), readSeries(t, path), "of a file's samples at one time the last one stays")
			sources = append(sources, columnar.Source{Path: path, Segment: segment, Columns: info.Columns})
			total += info.Rows
			if i == mergeAt {
				half := filepath.Join(dir, "half")
				info := merge(half, 100) // a number above those of files that come later
				sources, total = []columnar.Source{{Path: half, Segment: 100, Columns: info.Columns}}, info.Rows
			}
		}
		path := filepath.Join(dir, "merged")
		info := merge(path, 200)
		var expected []metricRow
		for _, r := range want {
			expected = append(expected, r)
		}
		slices.SortFunc(expected, bySeries)
		require.Equal(t, expected, readSeries(t, path))
		require.EqualValues(t, len(expected), info.Rows)
		checkTable(t, path, expected)
	})
}

func bySeries(a, b metricRow) int {
	return cmp.Or(cmp.Compare(a.metric, b.metric), cmp.Compare(labelJSON(a.label), labelJSON(b.label)), cmp.Compare(a.micros, b.micros))
}

// lastOfEach returns rows as a file has them that was written from these: sorted, the last one of each series and time.
func lastOfEach(rows []metricRow) []metricRow {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, bySeries)
	var out []metricRow
	for i, r := range sorted {
		if i+1 == len(sorted) || bySeries(r, sorted[i+1]) != 0 {
			r.version = 0
			out = append(out, r)
		}
	}
	return out
}

// checkTable compares the label table of a file with its rows.
func checkTable(t tester, path string, rows []metricRow) {
	r, err := columnar.OpenSeriesReader(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	table, err := r.Labels()
	require.NoError(t, err)
	want := make(map[string][]string)
	for _, row := range rows {
		want[columnar.MetricName] = append(want[columnar.MetricName], row.metric)
		if row.label != "" {
			want["l"] = append(want["l"], row.label)
		}
	}
	for name, values := range want {
		slices.Sort(values)
		want[name] = slices.Compact(values)
	}
	require.Equal(t, &columnar.LabelTable{Plain: true, Values: want}, table)
}

func labelJSON(label string) string {
	if label == "" {
		return "{}"
	}
	return `{"l":"` + label + `"}`
}
