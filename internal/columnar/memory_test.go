package columnar_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/columnar"
)

// TestMergeKeepsNoRowGroup merges files one after the other in time and looks at the heap when the names of the last rows are asked
// for: it holds a few row groups, not all.
func TestMergeKeepsNoRowGroup(t *testing.T) {
	dir := t.TempDir()
	cols := &columns{}
	var sources []columnar.Source
	const files, rowsPerFile, textBytes = 16, 2000, 2000 // 64 MB of texts
	for i := range files {
		rows := make([]row, rowsPerFile)
		for j := range rows {
			n := i*rowsPerFile + j
			rows[j] = row{time: int64(n), fields: map[string]value{"m": fmt.Sprintf("%08d %s", n, strings.Repeat("x", textBytes))}}
		}
		path := filepath.Join(dir, fmt.Sprintf("source%d", i))
		part := columnar.Part{Records: []arrow.RecordBatch{record(rows)}}
		info, err := columnar.WriteFile(t.Context(), path, part, cols.lookup, columnar.WriteOptions{Segment: 1, RowGroupRows: 500})
		require.NoError(t, err)
		sources = append(sources, columnar.Source{Path: path, Columns: info.Columns})
	}
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	watch := &watched{Context: t.Context()}
	info, err := columnar.Merge(watch, filepath.Join(dir, "merged"), sources, columnar.WriteOptions{Segment: 2, RowGroupRows: 500})
	require.NoError(t, err)
	require.EqualValues(t, files*rowsPerFile, info.Rows)
	require.Less(t, int64(watch.most)-int64(before.HeapAlloc), int64(40<<20), "one row group of each source is 16 MB")
}

// TestMergeBytesBoundsTheHeap merges files that overlap in time, so that all are read at once, and compares the heap with what
// MergeBytes says.
func TestMergeBytesBoundsTheHeap(t *testing.T) {
	dir := t.TempDir()
	cols := &columns{}
	var sources []columnar.Source
	var groups []int64
	const files, rowsPerFile, textBytes = 12, 2000, 2000
	for i := range files {
		rows := make([]row, rowsPerFile)
		for j := range rows {
			n := j*files + i
			rows[j] = row{time: int64(n), fields: map[string]value{
				"m": fmt.Sprintf("%08d %s", n, strings.Repeat("x", textBytes)), "host": strings.Repeat("h", 200),
			}}
		}
		path := filepath.Join(dir, fmt.Sprintf("source%d", i))
		part := columnar.Part{Records: []arrow.RecordBatch{record(rows)}}
		info, err := columnar.WriteFile(t.Context(), path, part, cols.lookup, columnar.WriteOptions{Segment: 1, RowGroupRows: 500})
		require.NoError(t, err)
		sources = append(sources, columnar.Source{Path: path, Columns: info.Columns})
		bytes, err := columnar.RowGroupBytes(t.Context(), path)
		require.NoError(t, err)
		require.Greater(t, bytes, int64(500*textBytes))
		require.Less(t, bytes, int64(2*500*(textBytes+200)))
		groups = append(groups, bytes)
	}
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	watch := &watched{Context: t.Context()}
	_, err := columnar.Merge(watch, filepath.Join(dir, "merged"), sources, columnar.WriteOptions{Segment: 2, RowGroupRows: 500, Index: true})
	require.NoError(t, err)
	took, bound := int64(watch.most)-int64(before.HeapAlloc), columnar.MergeBytes(groups)
	t.Logf("heap %d KiB, bound %d KiB", took>>10, bound>>10)
	require.Less(t, took, bound)
}

// watched measures the live heap now and then when it is asked whether it has ended.
type watched struct {
	context.Context //nolint:containedctx // it is one
	calls           int
	most            uint64
}

func (w *watched) Err() error {
	if w.calls++; w.calls%8 == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w.most = max(w.most, m.HeapAlloc)
	}
	return w.Context.Err()
}
