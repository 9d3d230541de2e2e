package pgtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/pgtest"
)

func TestDatabasesAreApart(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t).DSN()
	a, b := pgtest.Database(t, server), pgtest.Database(t, server)

	exec(t, a, "CREATE TABLE only_here (x int)")
	require.Equal(t, int64(1), count(t, a, "SELECT count(*) FROM pg_tables WHERE tablename = 'only_here'"))
	require.Equal(t, int64(0), count(t, b, "SELECT count(*) FROM pg_tables WHERE tablename = 'only_here'"))
}

func TestCommittedRowsSurviveStopAndKill(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	dsn := s.DSN()
	exec(t, dsn, "CREATE TABLE kept (x int)")
	exec(t, dsn, "INSERT INTO kept VALUES (1)")

	require.NoError(t, s.Restart(t.Context()))
	exec(t, dsn, "INSERT INTO kept VALUES (2)")

	s.Kill()
	_, err := pgx.Connect(t.Context(), dsn)
	require.Error(t, err, "a killed server answers nobody")
	require.NoError(t, s.Start(t.Context()))
	require.Equal(t, dsn, s.DSN())
	require.Equal(t, int64(2), count(t, dsn, "SELECT count(*) FROM kept"))
}

func TestDSNGivesAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	require.Equal(t, int64(0), count(t, pgtest.DSN(t), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"))
}

func exec(t *testing.T, dsn, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), statement)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}

func count(t *testing.T, dsn, query string) int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	var n int64
	require.NoError(t, conn.QueryRow(t.Context(), query).Scan(&n))
	require.NoError(t, conn.Close(t.Context()))
	return n
}
