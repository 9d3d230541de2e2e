package promql_test

import (
	"net/url"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/promstore"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/testkit/promtest"
)

// A query that loads more series or samples than its org may ends with an error that names the limit; others go on.
func TestLimitsOfAnOrg(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 5 {
		b.send(t, []string{"__name__", "m", "i", strconv.Itoa(i)}, point{0, 1}, point{15, 2}, point{30, 3})
	}
	l := limits.Default()
	check := func(t *testing.T) {
		api := promapi.New(promapi.Options{}, promapi.Deps{Metrics: promstore.New(promstore.Options{}, promstore.Deps{
			Catalog: b.Catalog, Buffers: b.Ingest, Files: b.Files, Limits: func(org tenant.ID) limits.Limits {
				require.Equal(t, promtest.Org, org)
				return l
			},
		})})
		ask := func(query string) promapi.Answer {
			return api.Answer(t.Context(), promapi.Question{
				Org: promtest.Org, Database: signal.DefaultDatabase, Path: "query", Form: url.Values{"query": {query}, "time": {"30"}},
			})
		}
		l.MaxFetchedSeries, l.MaxFetchedSamples = 4, 0
		a := ask("m")
		require.Equal(t, 400, a.Status)
		require.Contains(t, string(a.Body), "more than 4 series (limits.max_fetched_series_per_query)")
		l.MaxFetchedSeries, l.MaxFetchedSamples = 0, 10
		a = ask(`m{i!="0"}[1m]`)
		require.Equal(t, 422, a.Status)
		require.Contains(t, string(a.Body), "the limit is 10, limits.max_fetched_samples_per_query")
		require.Equal(t, 200, ask(`m{i=~"[123]"}[1m]`).Status)
	}
	t.Run("fresh", check)
	b.Flush(t)
	t.Run("flushed", check)
}
