package promql_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"

	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/testkit/promtest"
)

// TestSuite runs all files of Prometheus' test suite, over rows in buffers and over rows in files. None is left out.
func TestSuite(t *testing.T) {
	t.Parallel()
	for name, flush := range map[string]bool{"fresh": false, "flushed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := promqltest.NewTestEngine(t, false, 5*time.Minute, promqltest.DefaultMaxSamplesPerQuery)
			store := promtest.New(t)
			orgs := 0
			promqltest.RunBuiltinTestsWithStorage(t, engine, func(testing.TB) storage.Storage {
				orgs++ // each cleared storage is another org's, so this is a test of their walls too
				return store.Storage(tenant.ID(fmt.Sprintf("org%d", orgs)), flush)
			})
		})
	}
}
