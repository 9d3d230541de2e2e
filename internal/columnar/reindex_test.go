package columnar_test

import (
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/searchindex"
)

// TestBuildIndexIsWhatTheWriterMakes compares, over random rows, the index built from a file with the one from the writing of the file.
func TestBuildIndexIsWhatTheWriterMakes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	rapid.Check(t, func(t *rapid.T) {
		cols := &columns{}
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row { return genRow(t, 0) }), 1, 60).Draw(t, "rows")
		info, err := columnar.WriteFile(t.Context(), path, columnar.Part{Records: []arrow.RecordBatch{record(rows)}}, cols.lookup,
			columnar.WriteOptions{Segment: 1, RowGroupRows: rapid.IntRange(1, 40).Draw(t, "group"), Index: true})
		require.NoError(t, err)
		built, err := columnar.BuildIndex(t.Context(), path, info.Columns)
		require.NoError(t, err)
		id := searchindex.Identity{Key: "k", Checksum: info.Checksum}
		require.Equal(t, info.Index.Finish(id), built.Finish(id))
	})
}
