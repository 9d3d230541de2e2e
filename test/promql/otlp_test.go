package promql_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/testkit/promtest"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/otlp"
)

// export writes an OTLP request of one resource in JSON.
func (b *bench) export(t *testing.T, metrics string) {
	t.Helper()
	body := `{"resourceMetrics":[{"resource":{"attributes":[
		{"key":"service.name","value":{"stringValue":"shop"}},{"key":"service.namespace","value":{"stringValue":"eu"}},
		{"key":"service.instance.id","value":{"stringValue":"i1"}},{"key":"host.name","value":{"stringValue":"h1"}}
	]},"scopeMetrics":[{"scope":{"name":"lib"},"metrics":[` + metrics + `]}]}]}`
	stream := signal.Stream{Org: promtest.Org, Database: signal.DefaultDatabase, Signal: signal.Metrics}
	result, err := otlp.DecodeMetrics([]byte(body), otlp.JSON, wire.Options{ReceivedAt: time.Now()}, stream, func(x *signal.Batch) error {
		defer x.Release()
		return b.Ingest.Write(t.Context(), x)
	})
	require.NoError(t, err)
	require.Zero(t, result.Rejected, result.Summary())
}

// nanos writes a time of so many seconds.
func nanos(seconds int) string { return `"` + strconv.Itoa(seconds) + `000000000"` }

// OTLP's metrics follow Prometheus' rules for names, units, labels and resources.
func TestOTLPUnderPrometheusNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	attributes := `"attributes":[{"key":"http.route","value":{"stringValue":"/x"}}],`
	b.export(t, `{"name":"process.memory","unit":"By","gauge":{"dataPoints":[{`+attributes+`"timeUnixNano":`+nanos(60)+`,"asDouble":5}]}},
		{"name":"http.requests","unit":"1","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[
			{`+attributes+`"timeUnixNano":`+nanos(60)+`,"asInt":"7"}]}},
		{"name":"queue.size","sum":{"aggregationTemporality":2,"dataPoints":[{"timeUnixNano":`+nanos(60)+`,"asInt":"3"}]}},
		{"name":"http.duration","unit":"s","histogram":{"aggregationTemporality":2,"dataPoints":[{"timeUnixNano":`+nanos(60)+`,
			"count":"6","sum":9.5,"explicitBounds":[0.5,2],"bucketCounts":["1","2","3"]}]}},
		{"name":"rpc.time","unit":"ms","summary":{"dataPoints":[{"timeUnixNano":`+nanos(60)+`,"count":"2","sum":5,
			"quantileValues":[{"quantile":0.5,"value":2}]}]}}`)
	const common = `"instance":"i1","job":"eu/shop"`
	with := func(name, more string) string {
		return `{"__name__":"` + name + `",` + strings.ReplaceAll(more, "…", common) + `}`
	}
	b.everywhere(t, func(t *testing.T) {
		for query, want := range map[string]map[string]string{
			`process_memory_bytes`:           {with("process_memory_bytes", `"http_route":"/x",…`): "5"},
			`http_requests_total{job=~".+"}`: {with("http_requests_total", `"http_route":"/x",…`): "7"},
			`queue_size`:                     {with("queue_size", `…`): "3"},
			`http_duration_seconds_count`:    {with("http_duration_seconds_count", `…`): "6"},
			`http_duration_seconds_sum`:      {with("http_duration_seconds_sum", `…`): "9.5"},
			`http_duration_seconds_bucket`: {
				with("http_duration_seconds_bucket", `…,"le":"0.5"`): "1", with("http_duration_seconds_bucket", `…,"le":"2"`): "3",
				with("http_duration_seconds_bucket", `…,"le":"+Inf"`): "6",
			},
			`http_duration_seconds_bucket{le="2"}`: {with("http_duration_seconds_bucket", `…,"le":"2"`): "3"},
			`rpc_time_milliseconds`:                {with("rpc_time_milliseconds", `…,"quantile":"0.5"`): "2"},
			`rpc_time_milliseconds_count`:          {with("rpc_time_milliseconds_count", `…`): "2"},
			`target_info`:                          {with("target_info", `"host_name":"h1",…`): "1"},
			`http_duration_seconds`:                {},
			`{__name__="http.duration"}`:           {},
			`sum by (host_name) (queue_size * on (job, instance) group_left (host_name) target_info)`: {`{"host_name":"h1"}`: "3"},
		} {
			require.Equal(t, want, b.instant(t, query, 90), query)
		}
		require.JSONEq(t, `["+Inf","0.5","2"]`, string(b.ask(t, "label/le/values", url.Values{})))
		require.JSONEq(t, `["__name__","host_name","http_route","instance","job","le","quantile"]`, string(b.ask(t, "labels", url.Values{})))
	})
}

// Deltas read as counters that begin with the first of the loaded samples, exponential histograms as native ones.
func TestOTLPDeltasAndExponentialHistograms(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := 1; i <= 4; i++ {
		at := nanos(i * 15)
		b.export(t, `{"name":"d","sum":{"aggregationTemporality":1,"isMonotonic":true,"dataPoints":[{"timeUnixNano":`+at+`,"asDouble":2}]}},
			{"name":"dh","exponentialHistogram":{"aggregationTemporality":1,"dataPoints":[{"timeUnixNano":`+at+`,"count":"3","sum":4,
				"scale":9,"zeroCount":"1","positive":{"offset":0,"bucketCounts":["1","1"]}}]}},
			{"name":"ch","exponentialHistogram":{"aggregationTemporality":2,"dataPoints":[{"timeUnixNano":`+at+`,"count":"`+strconv.Itoa(3*i)+
			`","sum":4,"scale":0,"positive":{"offset":-1,"bucketCounts":["`+strconv.Itoa(i)+`","`+strconv.Itoa(2*i)+`"]}}]}},
			{"name":"gone","gauge":{"dataPoints":[{"timeUnixNano":`+at+`,"flags":`+strconv.Itoa(i/4)+`,"asDouble":1}]}}`)
		if i == 2 {
			b.Flush(t)
		}
	}
	const job = `{"instance":"i1","job":"eu/shop"}`
	b.everywhere(t, func(t *testing.T) {
		const counter = `{"__name__":"d_total","instance":"i1","job":"eu/shop"}`
		require.Equal(t, map[string]string{counter: "2 4 6 8 "}, b.instant(t, `d_total[1m]`, 60))
		require.Equal(t, map[string]string{job: "8"}, b.instant(t, `increase(d_total[1m])`, 60))
		require.Equal(t, map[string]string{job: "12"}, b.instant(t, `histogram_count(dh)`, 60))
		require.Equal(t, map[string]string{job: "12"}, b.instant(t, `histogram_count(ch)`, 60))
		const third = `histogram_quantile(0.333333333333333333, ch)`
		require.Equal(t, map[string]string{job: "1"}, b.instant(t, third, 60), "the bound between both buckets")
		require.Empty(t, b.instant(t, `gone`, 60), "no recorded value ends a series")
		require.NotEmpty(t, b.instant(t, `gone`, 59))
	})
}
