package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/catalogtest"
	"github.com/millstream/millstream/internal/catalog/sqlite"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string) *sqlite.Catalog {
	t.Helper()
	c, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestConformance(t *testing.T) {
	t.Parallel()
	catalogtest.Run(t, func(t *testing.T) catalog.Catalog {
		t.Helper()
		return catalog.Instrument(open(t, filepath.Join(t.TempDir(), "catalog.db")), prometheus.NewRegistry())
	})
}

func TestRestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a ?#%41'é.db") // a URI would read some of these
	catalogtest.RunRestart(t, func(t *testing.T) catalog.Catalog {
		t.Helper()
		return open(t, path)
	})
	require.FileExists(t, path)
}

func TestStartTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	catalogtest.RunStartTogether(t, func(t *testing.T) (catalog.Catalog, error) {
		t.Helper()
		return sqlite.Open(t.Context(), sqlite.Options{Path: path})
	})
}

func TestTimesAreTheClocks(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 2, 3, 4, 5, 6, 7000, time.UTC)
	c, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "catalog.db"), Clock: clock.NewFake(now)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	w, err := c.StartWriter(t.Context(), "n", "")
	require.NoError(t, err)
	require.Equal(t, now, w.Started)
	d, err := c.CreateDatabase(t.Context(), "acme", "d", nil)
	require.NoError(t, err)
	require.Equal(t, now, d.Created)
}

func TestCommitsReachTheDisk(t *testing.T) {
	t.Parallel()
	c := open(t, filepath.Join(t.TempDir(), "catalog.db"))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		require.Equal(t, want, sqlite.WriterPragma(t, c, pragma), pragma)
	}
}

func TestOpenRefusesANewerSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	c := open(t, path)
	edit(t, path, "INSERT INTO catalog_version (version_id, is_applied) VALUES (99, 1)")
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	require.ErrorIs(t, err, catalog.ErrSchema)
	require.ErrorContains(t, err, "version 99, this program knows version 2")
	require.ErrorIs(t, c.Ping(t.Context()), catalog.ErrSchema, "a process that runs notices")
}

func TestOpenRefusesWhatIsNoCatalog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("not a database "), 20), 0o600))
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	require.True(t, fault.Is(err, fault.Corrupt), err)
	_, err = sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "none", "catalog.db")})
	require.True(t, fault.Is(err, fault.Unavailable), err)
}

func TestContextEndsAWait(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "catalog.db")
	c := open(t, path)
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	held, err := db.Conn(t.Context())
	require.NoError(t, err)
	_, err = held.ExecContext(t.Context(), "BEGIN IMMEDIATE") // another process writes and does not end
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := c.StartWriter(ctx, "n", "")
		done <- err
	}()
	_, err = c.Writers(t.Context())
	require.NoError(t, err, "readers do not wait for a writer")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	_, err = held.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, held.Close())
	_, err = c.StartWriter(t.Context(), "n", "")
	require.NoError(t, err, "the connection that writes is usable again")
	writers, err := c.Writers(t.Context())
	require.NoError(t, err)
	require.Len(t, writers, 1)
}

func edit(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), statement)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}
