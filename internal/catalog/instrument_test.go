package catalog_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/catalog/sqlite"
)

// The suite runs over an instrumented catalog in package sqlite; here it is only counted.
func TestInstrumentCountsByMethodAndOutcome(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "catalog.db")})
	require.NoError(t, err)
	c := catalog.Instrument(engine, reg)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	for range 2 {
		require.NoError(t, c.Ping(t.Context()))
	}
	require.ErrorIs(t, c.DropDatabase(t.Context(), "acme", "none"), catalog.ErrNoDatabase)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Writers(canceled)
	require.ErrorIs(t, err, context.Canceled)
	var want strings.Builder
	want.WriteString("# HELP millstream_catalog_requests_total Calls of the catalog that have ended.\n")
	want.WriteString("# TYPE millstream_catalog_requests_total counter\n")
	for _, line := range [][3]string{{"drop_database", "not_found", "1"}, {"ping", "ok", "2"}, {"writers", "canceled", "1"}} {
		fmt.Fprintf(&want, "millstream_catalog_requests_total{method=%q,outcome=%q} %s\n", line[0], line[1], line[2])
	}
	require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(want.String()), "millstream_catalog_requests_total"))
	require.Equal(t, 3, testutil.CollectAndCount(reg, "millstream_catalog_request_seconds"))
}
