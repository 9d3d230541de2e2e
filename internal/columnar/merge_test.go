package columnar_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/columnar"
)

// TestMerge merges random files and reads the rows back: all of them, sorted, with every value in its type.
func TestMerge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		cols := &columns{}
		var want []row
		var sources []columnar.Source
		var total int64
		for i := range rapid.IntRange(1, 5).Draw(t, "files") {
			rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row { return genRow(t, 0) }), 1, 30).Draw(t, "rows")
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
		require.Equal(t, (int(total)+group-1)/group, info.RowGroups, "all groups but the last are full")
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
