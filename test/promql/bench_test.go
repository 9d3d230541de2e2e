package promql_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/promstore"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/testkit/promtest"
	"github.com/millstream/millstream/internal/wire/promwrite"
)

// The load of docs/performance.md, "Metrics": 10,000 counters with jitter, 360 samples each at 10 s, 2,000 series a request.
const (
	benchSeries  = 10_000
	benchSamples = 360
	benchStep    = 10_000 // ms
	benchStart   = 1_760_000_400_000
)

// benchRequests calls send with every request of the load.
func benchRequests(b *testing.B, send func(body []byte)) {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	series := make([]prompb.TimeSeries, benchSeries)
	values := make([]float64, benchSeries)
	for i := range series {
		series[i].Labels = []prompb.Label{
			{Name: "__name__", Value: "http_requests_total"},
			{Name: "cluster", Value: "eu-west-1"},
			{Name: "code", Value: strconv.Itoa(200 + i%5)},
			{Name: "instance", Value: fmt.Sprintf("10.0.%d.%d:9100", i/250, i%250)},
			{Name: "job", Value: "job-" + strconv.Itoa(i%20)},
			{Name: "path", Value: "/api/v1/thing/" + strconv.Itoa(i%100)},
		}
		series[i].Samples = make([]prompb.Sample, 1)
	}
	for step := range benchSamples {
		for i := range series {
			values[i] += float64(rng.IntN(100))
			series[i].Samples[0] = prompb.Sample{Timestamp: benchStart + int64(step)*benchStep + int64(i%1000), Value: values[i]}
		}
		for i := 0; i < benchSeries; i += 2000 {
			body, err := (&prompb.WriteRequest{Timeseries: series[i : i+2000]}).Marshal()
			require.NoError(b, err)
			send(body)
		}
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMetrics writes the load once and asks it, from files of every ten minutes or so: with what earlier queries have decoded, and
// without.
func BenchmarkMetrics(b *testing.B) {
	s := promtest.New(b)
	api := promapi.New(promapi.Options{}, promapi.Deps{Metrics: s.Prom})
	n := 0
	began := time.Now()
	before := cpu()
	benchRequests(b, func(body []byte) {
		_, err := s.Write(b.Context(), body, promwrite.V1)
		require.NoError(b, err)
		if n++; n%(5*60) == 0 {
			s.Flush(b)
		}
	})
	b.Logf("intake with the making of requests: %s, CPU %s", time.Since(began), cpu()-before)
	ask := func(b *testing.B, query string, api func() *promapi.API) {
		b.Helper()
		for b.Loop() {
			form := url.Values{
				"query": {query}, "start": {strconv.Itoa(benchStart / 1000)}, "end": {strconv.Itoa(benchStart/1000 + 3600)}, "step": {"15"},
			}
			a := api().Answer(b.Context(), promapi.Question{
				Org: promtest.Org, Database: signal.DefaultDatabase, Path: "query_range", Form: form,
			})
			require.Equal(b, 200, a.Status, "%s", a.Body)
		}
	}
	s.Flush(b)
	var size int64
	require.NoError(b, filepath.WalkDir(s.Dir(), func(path string, d os.DirEntry, err error) error {
		if info, e := d.Info(); e == nil && filepath.Ext(path) == ".parquet" {
			size += info.Size()
		}
		return err
	}))
	b.Logf("%d bytes of files, %.2f a sample", size, float64(size)/benchSeries/benchSamples)
	for name, query := range map[string]string{
		"rate": "sum by (job)(rate(http_requests_total[5m]))", "one-job": `sum(rate(http_requests_total{job="job-3"}[5m]))`,
		"one-series": `http_requests_total{instance="10.0.1.1:9100"}`, "hundred-series": `http_requests_total{path="/api/v1/thing/7"}`,
	} {
		b.Run(name, func(b *testing.B) { ask(b, query, func() *promapi.API { return api }) })
		b.Run("cold-"+name, func(b *testing.B) {
			ask(b, query, func() *promapi.API {
				store := promstore.New(promstore.Options{}, promstore.Deps{Catalog: s.Catalog, Buffers: s.Ingest, Files: s.Files})
				return promapi.New(promapi.Options{}, promapi.Deps{Metrics: store})
			})
		})
	}
	b.Run("label-values", func(b *testing.B) {
		for b.Loop() {
			a := api.Answer(b.Context(), promapi.Question{
				Org: promtest.Org, Database: signal.DefaultDatabase, Path: "label/job/values", Form: url.Values{},
			})
			require.Equal(b, 200, a.Status, "%s", a.Body)
		}
	})
}
