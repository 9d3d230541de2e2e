package promql_test

import (
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/promstore"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/testkit/promtest"
	"github.com/millstream/millstream/internal/wire/promwrite"
)

// Several goroutines read the files of a query, and parts of one file; the answer is the same to the byte, the order of series included,
// whichever is faster, and however much of them is kept for the next query.
func TestFilesAreReadInShares(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for file := range 4 {
		request := &prompb.WriteRequest{}
		for i := range 3000 {
			request.Timeseries = append(request.Timeseries, prompb.TimeSeries{
				Labels: []prompb.Label{
					{Name: "__name__", Value: "m"}, {Name: "i", Value: strconv.Itoa((i * 7) % 3000)}, {Name: "job", Value: strconv.Itoa(i % 9)},
				},
			})
			for k := range 10 {
				at := int64(file*10+k) * 15_000
				request.Timeseries[i].Samples = append(request.Timeseries[i].Samples, prompb.Sample{Timestamp: at, Value: 1 / float64(1+i+k)})
			}
		}
		body, err := request.Marshal()
		require.NoError(t, err)
		_, err = b.Write(t.Context(), body, promwrite.V1)
		require.NoError(t, err)
		if file < 3 {
			b.Flush(t)
		}
	}
	ask := func(api *promapi.API, query string) string {
		a := api.Answer(t.Context(), promapi.Question{Org: promtest.Org, Database: signal.DefaultDatabase, Path: "query", Form: url.Values{
			"query": {query}, "time": {"600"},
		}})
		require.Equal(t, 200, a.Status, "%s", a.Body)
		return string(a.Body)
	}
	deps := promstore.Deps{Catalog: b.Catalog, Buffers: b.Ingest, Files: b.Files}
	shared := promapi.New(promapi.Options{}, promapi.Deps{Metrics: promstore.New(promstore.Options{ShareRows: 1}, deps)})
	var apis []*promapi.API
	for _, size := range []int64{-1, 100_000, 1_000_000} { // none; less than a query decodes; part of what all do
		store := promstore.New(promstore.Options{ShareRows: 1, CacheBytes: size}, deps)
		apis = append(apis, promapi.New(promapi.Options{}, promapi.Deps{Metrics: store}))
	}
	for _, query := range []string{`m{job="3"}`, `sum by (job) (m)`, `sum(rate(m[10m]))`, `m{i="17"}[20m]`} {
		want := ask(b.api, query)
		require.Contains(t, want, `"value`, query)
		for n := range 10 {
			require.Equal(t, want, ask(shared, query), fmt.Sprint(query, n))
		}
		var asking sync.WaitGroup
		for i, api := range append(apis, apis...) {
			asking.Go(func() {
				for range 3 {
					if got := ask(api, query); got != want {
						t.Errorf("%s with cache %d: %s", query, i, got)
					}
				}
			})
		}
		asking.Wait()
	}
}
