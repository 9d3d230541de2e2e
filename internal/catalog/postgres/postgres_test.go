package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/catalogtest"
	"github.com/millstream/millstream/internal/catalog/postgres"
	"github.com/millstream/millstream/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Shared{Tests: m}) }

func open(t *testing.T, dsn string) *postgres.Catalog {
	t.Helper()
	c, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestConformance(t *testing.T) {
	t.Parallel()
	catalogtest.Run(t, func(t *testing.T) catalog.Catalog {
		t.Helper()
		return open(t, pgtest.DSN(t))
	})
}

func TestRestart(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	catalogtest.RunRestart(t, func(t *testing.T) catalog.Catalog {
		t.Helper()
		return open(t, dsn)
	})
}

func TestStartTogether(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	catalogtest.RunStartTogether(t, func(t *testing.T) (catalog.Catalog, error) {
		t.Helper()
		return postgres.Open(t.Context(), postgres.Options{DSN: dsn})
	})
}

func TestOpenRefusesANewerSchema(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	c := open(t, dsn)
	execute(t, dsn, "INSERT INTO catalog_version (version_id, is_applied) VALUES (99, true)")
	_, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
	require.ErrorIs(t, err, catalog.ErrSchema)
	require.ErrorContains(t, err, "version 99, this program knows version 2")
	require.ErrorIs(t, c.Ping(t.Context()), catalog.ErrSchema, "a process that runs notices")
}

func TestCommitsReachTheDisk(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	for set, want := range map[string]string{"off": "on", "local": "local", "remote_apply": "remote_apply"} {
		require.Equal(t, want, postgres.Setting(t, open(t, dsn+"&synchronous_commit="+set), "synchronous_commit"))
	}
	c := open(t, dsn+"&statement_timeout=7s")
	require.Equal(t, "7s", postgres.Setting(t, c, "statement_timeout"), "the DSN's own value stays")
	require.Equal(t, "10s", postgres.Setting(t, c, "lock_timeout"))
}

func execute(t *testing.T, dsn, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), statement)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}
