package objstore_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/objstore"
)

func TestLocalFilesLieWhereTheirKeysSay(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s, err := objstore.NewLocal(root)
	require.NoError(t, err)
	require.NoError(t, s.Put(t.Context(), "org!*'()/logs/x", bytes.NewReader([]byte("1")), 1))
	path, ok := s.LocalPath("org!*'()/logs/x")
	require.True(t, ok)
	require.Equal(t, filepath.Join(root, "org!*'()", "logs", "x"), path)
	require.FileExists(t, path)
}

func TestLocalSharesTheBytesOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := objstore.NewLocal(filepath.Join(dir, "objects"))
	require.NoError(t, err)
	file := filepath.Join(dir, "flush.parquet")
	require.NoError(t, os.WriteFile(file, []byte("rows"), 0o600))
	old := time.Now().Add(-48 * time.Hour)
	require.NoError(t, os.Chtimes(file, old, old))
	require.NoError(t, s.PutFile(t.Context(), "org/x", file))

	path, _ := s.LocalPath("org/x")
	a, err := os.Stat(file)
	require.NoError(t, err)
	b, err := os.Stat(path)
	require.NoError(t, err)
	require.True(t, os.SameFile(a, b))
	info, err := s.Stat(t.Context(), "org/x")
	require.NoError(t, err)
	require.True(t, info.Modified.After(old.Add(24*time.Hour)), "an object is as old as its put, not as its bytes")
}

func TestLocalCleansUp(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	temp := filepath.Join(root, "~tmp")
	require.NoError(t, os.Mkdir(temp, 0o700))
	left, busy := filepath.Join(temp, "left"), filepath.Join(temp, "busy")
	for _, path := range []string{left, busy} {
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
	}
	old := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(left, old, old))

	s, err := objstore.NewLocal(root)
	require.NoError(t, err)
	require.NoFileExists(t, left)
	require.FileExists(t, busy, "another process may be writing it")
	require.NoError(t, s.List(t.Context(), "", func(e objstore.Entry) error {
		t.Errorf("listed %q", e.Key)
		return nil
	}))

	require.NoError(t, s.Put(t.Context(), "org/logs/stream/hour/x", bytes.NewReader([]byte("1")), 1))
	require.NoError(t, s.Delete(t.Context(), "org/logs/stream/hour/x"))
	require.NoDirExists(t, filepath.Join(root, "org"), "empty folders go with their last object")
}

func TestLocalThatCannotWriteIsUnavailable(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s, err := objstore.NewLocal(root)
	require.NoError(t, err)
	// Works for root as well, whom permissions do not stop.
	require.NoError(t, os.Remove(filepath.Join(root, "~tmp")))
	err = s.Put(t.Context(), "org/x", bytes.NewReader([]byte("1")), 1)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
}
