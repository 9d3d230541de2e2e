package promql_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"

	"github.com/millstream/millstream/internal/promeval"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/testkit/promtest"
)

// TestSuite runs all files of Prometheus' test suite, over rows in buffers and over rows in files, with the parts of range queries that are
// evaluated beside the engine. None is left out.
func TestSuite(t *testing.T) {
	t.Parallel()
	for name, flush := range map[string]bool{"fresh": false, "flushed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const lookback = 5 * time.Minute
			engine := promeval.New(promqltest.NewTestEngine(t, false, lookback, promqltest.DefaultMaxSamplesPerQuery), promeval.Options{
				Parser: parser.NewParser(promqltest.TestParserOpts), Timeout: 100 * time.Second, Lookback: lookback,
			})
			store := promtest.New(t)
			orgs := 0
			promqltest.RunBuiltinTestsWithStorage(t, engine, func(testing.TB) storage.Storage {
				orgs++ // each cleared storage is another org's, so this is a test of their walls too
				return store.Storage(tenant.ID(fmt.Sprintf("org%d", orgs)), flush)
			})
		})
	}
}
