package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/catalogtest"
	"github.com/millstream/millstream/internal/catalog/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	catalogtest.Run(t, func(t *testing.T) catalog.Catalog {
		t.Helper()
		return open(t, filepath.Join(t.TempDir(), "catalog.db"))
	})
}

func open(t *testing.T, path string) *sqlite.Catalog {
	t.Helper()
	c, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}
