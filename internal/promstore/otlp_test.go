package promstore_test

import (
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/millstream/millstream/internal/signal"
)

func otlp(name, unit string, kind signal.MetricKind) signal.Sample {
	return signal.Sample{
		Name: []byte(name), Unit: []byte(unit), Kind: kind, Temporality: signal.TemporalityCumulative, Monotonic: kind == signal.MetricSum,
	}
}

// Samples of OTLP are found under the names and labels that Prometheus gives them, and not under those that are stored.
func TestOTLPNames(t *testing.T) {
	t.Parallel()
	resource := []string{"resource.service.name", "shop", "resource.service.namespace", "eu", "resource.host.name", "h1", "http.route", "/a"}
	everywhere(t, []sample{
		{second: 1, value: 3, x: otlp("http.requests", "", signal.MetricSum), labels: resource},
		{second: 2, value: 5, x: otlp("http.requests", "", signal.MetricSum), labels: resource},
		{second: 1, value: 20, x: otlp("memory.used", "By", signal.MetricGauge), labels: append([]string{"scope.name", "s"}, resource...)},
		{second: 1, value: 7, x: signal.Sample{Name: []byte("http_requests_total")}, labels: []string{"job", "plain"}},
	}, []string{"http.requests", "memory.used", "http_requests_total"}, func(b *bed) {
		b.require([]string{
			`{__name__="http_requests_total", http_route="/a", job="eu/shop"} 1:3 2:5`, `{__name__="http_requests_total", job="plain"} 1:7`,
		}, 0, 9, named("http_requests_total"))
		b.require([]string{`{__name__="memory_used_bytes", http_route="/a", job="eu/shop"} 1:20`}, 0, 9, named("memory_used_bytes"))
		b.require(nil, 0, 9, named("http.requests"))
		b.require([]string{`{__name__="target_info", host_name="h1", job="eu/shop"} 1:1 2:1`}, 0, 9, named("target_info"))
		b.require([]string{`{__name__="http_requests_total", http_route="/a", job="eu/shop"} 2:5`}, 2, 9,
			match(labels.MatchRegexp, "__name__", "http.+"), match(labels.MatchEqual, "http_route", "/a"))
	})
}

// Deltas are totals from the first one in the range on, wherever they lie; the end of a series is a staleness marker.
func TestOTLPDeltas(t *testing.T) {
	t.Parallel()
	delta := otlp("orders", "", signal.MetricSum)
	delta.Temporality = signal.TemporalityDelta
	end := delta
	end.Flags = signal.FlagNoValue
	everywhere(t, []sample{
		{second: 1, value: 3, x: delta}, {second: 2, value: 4, x: delta}, {second: 3, value: 5, x: delta}, {second: 4, x: end},
	}, []string{"orders"}, func(b *bed) {
		b.require([]string{`{__name__="orders_total"} 1:3 2:7 3:12 4:NaN(stale)`}, 0, 9, named("orders_total"))
		b.require([]string{`{__name__="orders_total"} 2:4 3:9`}, 2, 3, named("orders_total"))
	})
}

// A histogram is its buckets, count and sum; a bucket alone can be asked for.
func TestOTLPHistograms(t *testing.T) {
	t.Parallel()
	h := otlp("latency", "s", signal.MetricHistogram)
	h.Histogram = []byte(`{"count":7,"sum":9.5,"explicitBounds":[1,2.5],"bucketCounts":[1,2,4]}`)
	everywhere(t, []sample{{second: 1, x: h}, {second: 2, x: h}}, []string{"latency"}, func(b *bed) {
		b.require([]string{
			`{__name__="latency_seconds_bucket", le="+Inf"} 1:7 2:7`, `{__name__="latency_seconds_bucket", le="1"} 1:1 2:1`,
			`{__name__="latency_seconds_bucket", le="2.5"} 1:3 2:3`,
		}, 0, 9, named("latency_seconds_bucket"))
		b.require([]string{`{__name__="latency_seconds_bucket", le="1"} 2:1`}, 2, 9, match(labels.MatchEqual, "le", "1"))
		b.require([]string{`{__name__="latency_seconds_sum"} 1:9.5 2:9.5`}, 0, 9, named("latency_seconds_sum"))
		b.require([]string{`{__name__="latency_seconds_count"} 1:7`}, 0, 1, named("latency_seconds_count"))
	})
}
