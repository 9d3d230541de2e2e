package columnar_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/columnar/parquetfile"
)

const copyFraction = 2 // of the package

// TestMerge merges random files and reads the rows back: all of them, sorted, with every value in its type.
func TestMerge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		cols := &columns{}
		var want []row
		var sources []columnar.Source
		var total int64
		apart := rapid.Bool().Draw(t, "apart") // in time, so that row groups are copied
		for i := range rapid.IntRange(1, 5).Draw(t, "files") {
			rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row { return genRow(t, 0) }), 1, 30).Draw(t, "rows")
			for r := range rows {
				if apart {
					rows[r].time = rows[r].time%50 + int64(i)*40
				}
			}
			want = append(want, rows...)
			path := filepath.Join(dir, fmt.Sprintf("source%d", i))
			opts := columnar.WriteOptions{Segment: 1, RowGroupRows: rapid.IntRange(1, 7).Draw(t, "source group")}
			info, err := columnar.WriteFile(t.Context(), path, columnar.Part{Records: []arrow.RecordBatch{record(rows)}}, cols.lookup, opts)
			require.NoError(t, err)
			sources = append(sources, columnar.Source{Path: path, Columns: info.Columns})
			total += info.Rows
		}
		path := filepath.Join(dir, "merged")
		group := rapid.IntRange(1, 40).Draw(t, "group")
		info, err := columnar.Merge(t.Context(), path, sources, columnar.WriteOptions{Segment: 2, RowGroupRows: group, Index: true})
		require.NoError(t, err)
		require.Equal(t, total, info.Rows)
		require.LessOrEqual(t, info.RowGroups, 2*((int(total)+group-1)/group)*copyFraction, "few groups are small")
		checkInfo(t, path, info)
		got := readAll(t, path, cols.name)
		for i := 1; i < len(got); i++ {
			a, b := got[i-1], got[i]
			require.LessOrEqual(t, a.time*1000+int64(a.nanos), b.time*1000+int64(b.nanos), "row %d comes before its time", i)
		}
		require.ElementsMatch(t, texts(want), texts(got))
	})
}

// texts writes each row, so that rows of one time can be compared in any order.
func texts(rows []row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = fmt.Sprintf("%d %d %#v", r.time, r.nanos, r.fields)
	}
	return out
}

func TestMergeOfABrokenSourceLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cols := &columns{}
	path := filepath.Join(dir, "source")
	part := columnar.Part{Records: []arrow.RecordBatch{record([]row{{time: 1, fields: map[string]value{"a": int64(1)}}})}}
	info, err := columnar.WriteFile(t.Context(), path, part, cols.lookup, columnar.WriteOptions{Segment: 1})
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, info.Bytes/2))
	merged := filepath.Join(dir, "merged")
	_, err = columnar.Merge(t.Context(), merged, []columnar.Source{{Path: path, Columns: info.Columns}}, columnar.WriteOptions{Segment: 2})
	require.Error(t, err)
	require.NoFileExists(t, merged)
}

// TestMergeCopiesRowGroups merges files whose times touch in one place: all row groups but those there are copied, the small one between
// them is written for itself.
func TestMergeCopiesRowGroups(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cols := &columns{}
	var sources []columnar.Source
	var want []row
	for file, times := range [][2]int64{{0, 1023}, {1020, 2040}, {3000, 3600}} {
		var rows []row
		for at := times[0]; at < times[1]; at++ {
			r := row{time: at, fields: map[string]value{"n": at, "level": []string{"info", "error"}[at%2], "m": fmt.Sprint("request ", at)}}
			if file == 1 {
				r.fields["only here"] = bits(math.Float64bits(float64(at) / 2))
			}
			rows = append(rows, r)
		}
		want = append(want, rows...)
		path := filepath.Join(dir, fmt.Sprintf("source%d", file))
		info, err := columnar.WriteFile(t.Context(), path, columnar.Part{Records: []arrow.RecordBatch{record(rows)}}, cols.lookup,
			columnar.WriteOptions{Segment: 1, RowGroupRows: 100})
		require.NoError(t, err)
		sources = append(sources, columnar.Source{Path: path, Columns: info.Columns})
	}
	path := filepath.Join(dir, "merged")
	info, err := columnar.Merge(t.Context(), path, sources, columnar.WriteOptions{Segment: 2, RowGroupRows: 100, Index: true})
	require.NoError(t, err)
	checkInfo(t, path, info)
	require.ElementsMatch(t, texts(want), texts(readAll(t, path, cols.name)))
	file := footerOf(t, path)
	var sizes []int
	for g := range file.Groups() {
		sizes = append(sizes, file.Rows(g))
	}
	full := func(n int) []int { return slices.Repeat([]int{100}, n) }
	require.Equal(t, slices.Concat(full(10), []int{100, 23}, full(9), []int{20}, full(6)), sizes)
	require.Equal(t, []string{"0", "3599"}, boundsOf(t, info, "n"))
}

func footerOf(t *testing.T, path string) *parquetfile.File {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close() //nolint:errcheck // read only
	stat, err := f.Stat()
	require.NoError(t, err)
	file, err := parquetfile.ReadFooter(f, stat.Size())
	require.NoError(t, err)
	return file
}

func boundsOf(t *testing.T, info columnar.Info, column string) []string {
	t.Helper()
	for _, c := range info.Columns {
		if c.Physical == column {
			return []string{c.Min, c.Max}
		}
	}
	t.Fatalf("no column %s", column)
	return nil
}

// TestMergeBoundsRowGroups merges rows of which the usual number would take 256 MiB: row groups have fewer of them.
func TestMergeBoundsRowGroups(t *testing.T) {
	t.Parallel()
	const perFile, size = 3000, 32 << 10
	dir := t.TempDir()
	cols := &columns{}
	pad := strings.Repeat("x", size)
	var sources []columnar.Source
	for file := range 3 {
		var rows []row
		for n := range perFile {
			rows = append(rows, row{time: int64(3*n + file), fields: map[string]value{"m": fmt.Sprint(file*perFile+n, pad)}})
		}
		path := filepath.Join(dir, fmt.Sprintf("source%d", file))
		info, err := columnar.WriteFile(t.Context(), path, columnar.Part{Records: []arrow.RecordBatch{record(rows)}}, cols.lookup,
			columnar.WriteOptions{Segment: 1, RowGroupRows: 500})
		require.NoError(t, err)
		sources = append(sources, columnar.Source{Path: path, Columns: info.Columns})
	}
	path := filepath.Join(dir, "merged")
	info, err := columnar.Merge(t.Context(), path, sources, columnar.WriteOptions{Segment: 2, Index: true})
	require.NoError(t, err)
	require.EqualValues(t, 3*perFile, info.Rows)
	file := footerOf(t, path)
	for g := range file.Groups() {
		require.LessOrEqual(t, file.Rows(g)*size, 128<<20, "row group %d", g)
	}
}
