package postgres_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/catalogtest"
	"github.com/millstream/millstream/internal/catalog/postgres"
	"github.com/millstream/millstream/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	server := serverDSN(t)
	catalogtest.Run(t, func(t *testing.T) catalog.Catalog {
		t.Helper()
		return open(t, pgtest.Database(t, server))
	})
}

// serverDSN returns the server of the environment, or starts one for this test.
func serverDSN(t *testing.T) string {
	t.Helper()
	if dsn := os.Getenv(pgtest.EnvDSN); dsn != "" {
		return dsn
	}
	return pgtest.Start(t).DSN()
}

func open(t *testing.T, dsn string) *postgres.Catalog {
	t.Helper()
	c, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}
