package columnar_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/columnar"
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
