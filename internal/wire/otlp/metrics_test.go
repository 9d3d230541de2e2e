package otlp_test

import (
	"maps"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/millstream/millstream/internal/wire/otlp"
)

const labels = `json {"host":"h1","resource.service.name":"cart","scope.name":"lib"}`

// fullMetrics has a metric of each kind; every field is set once.
func fullMetrics() pmetricotlp.ExportRequest {
	metrics := pmetric.NewMetrics()
	r := metrics.ResourceMetrics().AppendEmpty()
	r.Resource().Attributes().PutStr("service.name", "cart")
	r.Resource().SetDroppedAttributesCount(1)
	s := r.ScopeMetrics().AppendEmpty()
	s.Scope().SetName("lib")
	add := func(name string) pmetric.Metric {
		m := s.Metrics().AppendEmpty()
		m.SetName(name)
		return m
	}
	m := add("temperature")
	m.SetUnit("Cel")
	m.SetDescription("how warm")
	g := m.SetEmptyGauge().DataPoints()
	common(g.AppendEmpty()).SetDoubleValue(21.5)
	common(g.AppendEmpty()).SetDoubleValue(math.NaN())
	common(g.AppendEmpty()).SetIntValue(math.MaxInt64)
	stale := common(g.AppendEmpty())
	stale.SetFlags(pmetric.DefaultDataPointFlags.WithNoRecordedValue(true))

	sum := add("requests").SetEmptySum()
	sum.SetIsMonotonic(true)
	sum.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	n := common(sum.DataPoints().AppendEmpty())
	n.SetIntValue(3)
	e := n.Exemplars().AppendEmpty()
	e.SetTimestamp(1_741_600_000_000_000_001)
	e.SetIntValue(-5)
	e.SetTraceID(pcommon.TraceID{15: 1})
	e.SetSpanID(pcommon.SpanID{7: 2})
	e.FilteredAttributes().PutStr("user", "u1")

	h := add("latency").SetEmptyHistogram()
	h.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	hp := h.DataPoints().AppendEmpty()
	hp.Attributes().PutStr("host", "h1")
	hp.SetTimestamp(1_741_600_000_000_000_007)
	hp.SetCount(math.MaxUint64)
	hp.SetSum(4.5)
	hp.SetMin(-1)
	hp.SetMax(math.Inf(1))
	hp.ExplicitBounds().FromRaw([]float64{0.5, 1e-9})
	hp.BucketCounts().FromRaw([]uint64{1, 0, 2})

	x := add("sizes").SetEmptyExponentialHistogram()
	x.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	xp := x.DataPoints().AppendEmpty()
	xp.Attributes().PutStr("host", "h1")
	xp.SetTimestamp(1_741_600_000_000_000_007)
	xp.SetCount(6)
	xp.SetScale(-11)
	xp.SetZeroCount(2)
	xp.SetZeroThreshold(0.25)
	xp.Positive().SetOffset(-3)
	xp.Positive().BucketCounts().FromRaw([]uint64{1, 300})
	xp.Negative().SetOffset(4)

	q := add("quantiles").SetEmptySummary().DataPoints().AppendEmpty()
	q.Attributes().PutStr("host", "h1")
	q.SetTimestamp(1_741_600_000_000_000_007)
	q.SetCount(3)
	q.SetSum(1.5)
	v := q.QuantileValues().AppendEmpty()
	v.SetQuantile(0.99)
	v.SetValue(math.NaN())
	return pmetricotlp.NewExportRequestFromMetrics(metrics)
}

func common(p pmetric.NumberDataPoint) pmetric.NumberDataPoint {
	p.Attributes().PutStr("host", "h1")
	p.SetTimestamp(1_741_600_000_000_000_007)
	p.SetStartTimestamp(1_741_500_000_000_000_000)
	return p
}

func TestEveryKindOfMetric(t *testing.T) {
	t.Parallel()
	const at, start = "1741600000000000007", "timestamp 1741500000000000"
	gauge := func(more map[string]string) map[string]string {
		row := map[string]string{
			"_t": at, "_metric": "string temperature", "_labels": labels, "_kind": "string gauge", "_unit": "string Cel",
			"_description": "string how warm", "_start": start,
		}
		maps.Copy(row, more)
		return row
	}
	want := []map[string]string{
		gauge(map[string]string{"value": "float64 21.5"}),
		gauge(map[string]string{"value": "float64 NaN"}),
		gauge(map[string]string{"value": "float64 9.223372036854776e+18", "_overflow": `json {"asInt":9223372036854775807}`}),
		gauge(map[string]string{"_flags": "int64 1"}),
		{
			"_t": at, "_metric": "string requests", "_labels": labels, "_kind": "string sum", "_start": start, "value": "float64 3",
			"_monotonic": "bool true", "_temporality": "string delta",
			"_exemplars": `json [{"timeUnixNano":"1741600000000000001","asInt":-5,"traceId":"00000000000000000000000000000001",` +
				`"spanId":"0000000000000002","filteredAttributes":{"user":"u1"}}]`,
		},
		{
			"_t": at, "_metric": "string latency", "_labels": labels, "_kind": "string histogram", "_temporality": "string cumulative",
			"_histogram": `json {"count":18446744073709551615,"sum":4.5,"min":-1,"max":"+Inf","explicitBounds":[0.5,1e-09],"bucketCounts":[1,0,2]}`,
		},
		{
			"_t": at, "_metric": "string sizes", "_labels": labels, "_kind": "string exponential_histogram", "_temporality": "string delta",
			"_histogram": `json {"count":6,"scale":-11,"zeroCount":2,"zeroThreshold":0.25,` +
				`"positive":{"offset":-3,"bucketCounts":[1,300]},"negative":{"offset":4,"bucketCounts":[]}}`,
		},
		{
			"_t": at, "_metric": "string quantiles", "_labels": labels, "_kind": "string summary",
			"_histogram": `json {"count":3,"sum":1.5,"quantileValues":[{"quantile":0.99,"value":"NaN"}]}`,
		},
	}
	proto, err := fullMetrics().MarshalProto()
	require.NoError(t, err)
	rows, _, err := decode(t, otlp.DecodeMetrics, proto, otlp.Protobuf, options())
	require.NoError(t, err)
	require.Equal(t, want, rows)
	text, err := fullMetrics().MarshalJSON()
	require.NoError(t, err)
	rows, _, err = decode(t, otlp.DecodeMetrics, text, otlp.JSON, options())
	require.NoError(t, err)
	require.Equal(t, want, rows)
}

func TestLabels(t *testing.T) {
	t.Parallel()
	body := `{"resourceMetrics":[{"resource":{"attributes":[{"key":"a","value":{"stringValue":"r"}},{"key":"a","value":{"stringValue":"r2"}}]},
		"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{"asInt":1,"attributes":[
		{"key":"resource.a","value":{"stringValue":"clash"}},{"key":"i","value":{"intValue":"-1"}},{"key":"d","value":{"doubleValue":0.5}},
		{"key":"b","value":{"boolValue":true}},{"key":"i","value":{"stringValue":"again"}},
		{"key":"l","value":{"arrayValue":{"values":[{"intValue":1}]}}},
		{"key":"m","value":{"kvlistValue":{"values":[{"key":"n","value":{"stringValue":"x"}}]}}},{"key":"","value":{"stringValue":"nameless"}},
		{"key":"empty","value":{"stringValue":""}},{"key":"null","value":{}}]}]}}]}]}]}`
	rows, _, err := decode(t, otlp.DecodeMetrics, []byte(body), otlp.JSON, options())
	require.NoError(t, err)
	require.Equal(t, `json {"attributes.resource.a":"clash","b":"true","d":"0.5","i":"-1","l":"[1]","m.n":"x","resource.a":"r"}`,
		rows[0]["_labels"])
	require.Equal(t, `json {"resource.a":"r2","i":"again","":"nameless"}`, rows[0]["_overflow"])
	require.Equal(t, "1741600800000000000", rows[0]["_t"])
}

func TestMetricsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	body := `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[
		{"gauge":{"dataPoints":[{"asInt":1},{"asInt":2}]}},
		{"name":"a","gauge":{"dataPoints":[{"asInt":1},{}]}},
		{"name":"b","histogram":{"dataPoints":[{"count":"1","bucketCounts":["1"]},{"count":1,"bucketCounts":[1,2],"explicitBounds":[]}]}},
		{"name":"c","sum":{"dataPoints":[{"asInt":1,"startTimeUnixNano":"18446744073709551615"}]}},
		{"name":"d"}]}]}]}`
	rows, res, err := decode(t, otlp.DecodeMetrics, []byte(body), otlp.JSON, options())
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Equal(t, 5, res.Rejected)
	require.Contains(t, res.Errors[0].Reason, "no name")
	require.Contains(t, res.Errors[2].Reason, "no value")
	require.Contains(t, res.Errors[3].Reason, "0 bounds and 2 bucket counts")
	require.Equal(t, []int{0, 1, 3, 5, 6}, []int{
		res.Errors[0].Index, res.Errors[1].Index, res.Errors[2].Index, res.Errors[3].Index, res.Errors[4].Index,
	})
}
