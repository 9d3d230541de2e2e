package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/proctest"
)

// EnvDSN names the variable that holds the URL of a running server whose user may create databases.
const EnvDSN = "MILLSTREAM_TEST_POSTGRES_DSN"

// Start starts a private server and removes it when the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := Launch(t.Context())
	if errors.Is(err, ErrNotInstalled) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close PostgreSQL: %v", err)
		}
	})
	return s
}

// DSN returns the URL of a new, empty database that belongs to this test and is dropped when it ends. Tests may run in parallel.
func DSN(t testing.TB) string {
	t.Helper()
	server := os.Getenv(EnvDSN)
	if server == "" {
		server = Start(t).DSN()
	}
	return Database(t, server)
}

// Database creates a new, empty database on the server behind dsn and returns its URL. It is dropped, with its connections, when
// the test ends.
func Database(t testing.TB, dsn string) string {
	t.Helper()
	name := "test_" + strings.ToLower(proctest.Secret())
	require.NoError(t, execute(t.Context(), dsn, "CREATE DATABASE "+name+" TEMPLATE template0"))
	t.Cleanup(func() {
		// The test's context is done by now. A server that the test left stopped has nothing worth dropping.
		if err := execute(context.Background(), dsn, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Logf("drop the test's database: %v", err)
		}
	})
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	u.Path = "/" + name
	return u.String()
}

func execute(ctx context.Context, dsn, statement string) (err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("connect to the test server: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("run %q: %w", statement, err)
	}
	return nil
}
