package parquetfile_test

import (
	"io"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/columnar/parquetfile"
)

// TestStatisticsOwnTheirTexts changes the memory of a chunk after it was written: what the writer keeps must not depend on it, or every
// row group of a file stays in memory until its footer.
func TestStatisticsOwnTheirTexts(t *testing.T) {
	t.Parallel()
	columns := []parquetfile.Column{{Name: "m", Kind: parquetfile.Text}}
	w, err := parquetfile.NewWriter(io.Discard, columns, parquetfile.Options{Level: 1})
	require.NoError(t, err)
	memory := []byte("amz")
	text := func(i int) string { return unsafe.String(&memory[i], 1) }
	w.BeginRowGroup(len(memory))
	stats, err := w.WriteChunk(&parquetfile.Chunk{Texts: []string{text(0), text(1), text(2)}})
	require.NoError(t, err)
	copy(memory, "???")
	require.Equal(t, "a", stats.MinText)
	require.Equal(t, "z", stats.MaxText)
	require.NoError(t, w.Close())
}
