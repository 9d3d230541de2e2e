package postgres_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/clustertest"
	"github.com/millstream/millstream/internal/cluster/postgres"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Shared{Tests: m}) }

// peerTimeout of the conformance suite: long against what a case takes, as only Pass lets time pass.
const peerTimeout = 100 * time.Second

func open(t *testing.T, dsn string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, PeerTimeout: peerTimeout})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	clustertest.Run(t, subject)
}

func subject(t *testing.T) clustertest.Subject {
	t.Helper()
	dsn, pass := shiftedClock(t, pgtest.DSN(t))
	return clustertest.Subject{
		Store: open(t, dsn), PeerTimeout: peerTimeout, Pass: pass,
		Second: func(t *testing.T) clustertest.Store { t.Helper(); return open(t, dsn) },
	}
}

// shiftedClock gives a database a clock that can be moved: functions of a schema that stands before the server's own in the search
// path of the URL that it returns.
func shiftedClock(t *testing.T, dsn string) (shifted string, pass func(time.Duration)) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	for _, statement := range []string{
		"CREATE SCHEMA shifted",
		"CREATE TABLE shifted.clock (shift interval NOT NULL)",
		"INSERT INTO shifted.clock VALUES ('0')",
		`CREATE FUNCTION shifted.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
			AS 'SELECT pg_catalog.clock_timestamp() + shift FROM shifted.clock'`,
		`CREATE FUNCTION shifted.now() RETURNS timestamptz STABLE LANGUAGE sql
			AS 'SELECT pg_catalog.now() + shift FROM shifted.clock'`,
	} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	q := u.Query()
	q.Set("search_path", "shifted,pg_catalog,public")
	u.RawQuery = q.Encode()
	return u.String(), func(d time.Duration) {
		t.Helper()
		_, err := conn.Exec(t.Context(), "UPDATE shifted.clock SET shift = shift + $1::interval", d)
		require.NoError(t, err)
	}
}

func TestOpenRefusesANewerSchema(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	open(t, dsn)
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "INSERT INTO cluster_version (version_id, is_applied) VALUES (99, true)")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	_, err = postgres.Open(t.Context(), postgres.Options{DSN: dsn, PeerTimeout: peerTimeout})
	require.ErrorIs(t, err, cluster.ErrSchema)
	require.ErrorContains(t, err, "version 99, this program knows version 2")
}

// TestASlowWriterLoses: what a process read before it was stopped is no reason to write when it wakes.
func TestASlowWriterLoses(t *testing.T) {
	t.Parallel()
	dsn, pass := shiftedClock(t, pgtest.DSN(t))
	s, other := open(t, dsn), open(t, dsn)
	require.True(t, s.WriteAfter(t, func() {}))
	require.False(t, s.WriteAfter(t, func() {
		_, err := other.Observe(t.Context(), 40)
		require.NoError(t, err)
	}), "another one has written")
	require.False(t, s.WriteAfter(t, func() { pass(s.WriteWithin()) }), "nobody has, but it was long ago")
	v, err := s.Observe(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, int64(41), v.Epoch)
}

// TestOpenTogether: processes that start at once on an empty database take turns at making the tables.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	opened := make(chan error)
	for range 4 {
		go func() {
			s, err := postgres.Open(context.Background(), postgres.Options{DSN: dsn, PeerTimeout: peerTimeout})
			if err == nil {
				err = s.Close()
			}
			opened <- err
		}()
	}
	for range 4 {
		require.NoError(t, <-opened)
	}
}

func TestAnUnreachableServer(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), postgres.Options{DSN: "postgres://nobody:secret@127.0.0.1:1/none", PeerTimeout: peerTimeout})
	require.True(t, fault.Is(err, fault.Unavailable), err)
	require.NotContains(t, err.Error(), "secret")
	_, err = postgres.Open(t.Context(), postgres.Options{DSN: "postgres://%zz", PeerTimeout: peerTimeout})
	require.Error(t, err)
}
