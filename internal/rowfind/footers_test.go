package rowfind

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/columnar/parquetfile"
)

func TestFootersKeepTheLastUsed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f.parquet")
	out, err := os.Create(path)
	require.NoError(t, err)
	w, err := parquetfile.NewWriter(out, []parquetfile.Column{{Name: "n", Kind: parquetfile.Int64}}, parquetfile.Options{})
	require.NoError(t, err)
	w.BeginRowGroup(1)
	_, err = w.WriteChunk(&parquetfile.Chunk{Ints: []int64{1}})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	t.Cleanup(func() { require.NoError(t, out.Close()) })

	one, err := NewFooters(1).get(1, out)
	require.NoError(t, err)
	c := NewFooters(3 * one.Size())
	for id := range int64(10) {
		_, err := c.get(id, out)
		require.NoError(t, err)
		require.NotNil(t, c.cached(0), "used again and again, it stays")
	}
	have := ""
	for id := range int64(10) {
		if c.cached(id) != nil {
			have += fmt.Sprint(id, " ")
		}
	}
	require.Equal(t, "0 8 9 ", have)
	require.LessOrEqual(t, c.mu.bytes, c.maxBytes)
	require.Nil(t, NewFooters(1).cached(1))
}
