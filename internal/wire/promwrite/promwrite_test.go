package promwrite_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/promwrite"
	"github.com/millstream/millstream/internal/wire/wiretest"
)

func received() time.Time { return time.UnixMilli(1_760_000_000_000) }

func stream() signal.Stream {
	return signal.Stream{Org: "t1", Database: signal.DefaultDatabase, Signal: signal.Metrics}
}

// decode reads a request, and holds that it is read in the same way when its series are known.
func decode(t testing.TB, body []byte, v promwrite.Version) ([]wiretest.Row, promwrite.Result) {
	t.Helper()
	known := promwrite.NewKnown(1 << 20)
	rows, result := decodeKnown(t, nil, body, v)
	for range 2 {
		again, same := decodeKnown(t, known, body, v)
		require.Equal(t, rows, again)
		require.Equal(t, result, same)
	}
	return rows, result
}

func decodeKnown(t testing.TB, known *promwrite.Known, body []byte, v promwrite.Version) ([]wiretest.Row, promwrite.Result) {
	t.Helper()
	c := wiretest.Collector{T: t}
	result, err := known.Decode(body, v, stream(), wire.Options{ReceivedAt: received(), MaxFutureSkew: 10 * time.Minute}, c.Emit)
	require.NoError(t, err)
	require.Equal(t, result.Accepted, c.Total())
	return c.All, result
}

func marshal(t testing.TB, m interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	body, err := m.Marshal()
	require.NoError(t, err)
	return body
}

func pairs(texts ...string) []prompb.Label {
	var out []prompb.Label
	for i := 0; i < len(texts); i += 2 {
		out = append(out, prompb.Label{Name: texts[i], Value: texts[i+1]})
	}
	return out
}

func TestSamplesBecomeRows(t *testing.T) {
	t.Parallel()
	at := received().UnixMilli()
	rows, result := decode(t, marshal(t, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{
		{
			Labels:  pairs("__name__", "m", "job", "a", "empty", "", "é", `q"\`),
			Samples: []prompb.Sample{{Value: 1.5, Timestamp: at}, {Value: math.Inf(1), Timestamp: at + 1}},
		},
		{Labels: pairs("__name__", "m2"), Samples: []prompb.Sample{{Value: 2, Timestamp: -5}}},
	}}), promwrite.V1)
	require.Equal(t, []wiretest.Row{
		{"_t": "1760000000000000000", "_metric": "string m", "_labels": `json {"job":"a","é":"q\"\\"}`, "value": "float64 1.5"},
		{"_t": "1760000000001000000", "_metric": "string m", "_labels": `json {"job":"a","é":"q\"\\"}`, "value": "float64 +Inf"},
		{"_t": "-5000000", "_metric": "string m2", "_labels": "json {}", "value": "float64 2"},
	}, rows)
	require.Equal(t, 3, result.Samples)
}

func TestBitsAreKept(t *testing.T) {
	t.Parallel()
	at := received().UnixMilli()
	for _, bits := range []uint64{value.NormalNaN, 0x7ff8000000000007, math.Float64bits(math.Copysign(0, -1)), 1} {
		body := marshal(t, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{{
			Labels: pairs("__name__", "m"), Samples: []prompb.Sample{{Value: math.Float64frombits(bits), Timestamp: at}},
		}}})
		seen := 0
		_, err := promwrite.Decode(body, promwrite.V1, stream(), wire.Options{ReceivedAt: received()}, func(b *signal.Batch) error {
			defer b.Release()
			for i, f := range b.Record.Schema().Fields() {
				if f.Name == signal.ValueColumn {
					seen++
					values := b.Record.Column(i).Data().Buffers()[1].Bytes()
					got := uint64(0)
					for j := 7; j >= 0; j-- {
						got = got<<8 | uint64(values[j])
					}
					if bits != math.Float64bits(math.Copysign(0, -1)) { // Prometheus' encoder does not send -0
						require.Equal(t, bits, got)
					}
				}
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 1, seen)
	}
}

func TestHistogramsAndExemplars(t *testing.T) {
	t.Parallel()
	at := received().UnixMilli()
	h := &histogram.Histogram{
		Schema: 1, Count: 9, Sum: 18.4, ZeroThreshold: 0.001, ZeroCount: 2, PositiveSpans: []histogram.Span{{Offset: 0, Length: 2}},
		PositiveBuckets: []int64{3, 1}, CounterResetHint: histogram.GaugeType,
	}
	f := &histogram.FloatHistogram{
		Schema: histogram.CustomBucketsSchema, Count: 1.5, Sum: 2, PositiveSpans: []histogram.Span{{Offset: 0, Length: 2}},
		PositiveBuckets: []float64{0.5, 1}, CustomValues: []float64{1},
	}
	rows, result := decode(t, marshal(t, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{
		{
			Labels: pairs("__name__", "h"), Histograms: []prompb.Histogram{prompb.FromIntHistogram(at, h), prompb.FromFloatHistogram(at+1, f)},
			Exemplars: []prompb.Exemplar{{Labels: pairs("trace_id", "x"), Value: 3, Timestamp: at}, {Value: math.NaN(), Timestamp: at + 1}},
		},
		{Labels: pairs("__name__", "only"), Exemplars: []prompb.Exemplar{{Value: 1, Timestamp: at}}},
	}}), promwrite.V1)
	require.Equal(t, []wiretest.Row{
		{
			"_t": "1760000000000000000", "_metric": "string h", "_labels": "json {}",
			"_histogram": `json {"count":9,"sum":18.4,"schema":1,"zeroThreshold":0.001,"zeroCount":2,"positiveSpans":[0,2],` +
				`"positiveCounts":[3,4],"resetHint":"gauge"}`,
		},
		{
			"_t": "1760000000001000000", "_metric": "string h", "_labels": "json {}",
			"_histogram": `json {"count":1.5,"sum":2,"schema":-53,"positiveSpans":[0,2],"positiveCounts":[0.5,1],"customValues":[1],"float":true}`,
			"_exemplars": `json [{"timeUnixNano":"1760000000000000000","asDouble":3,"filteredAttributes":{"trace_id":"x"}},` +
				`{"timeUnixNano":"1760000000001000000","asDouble":"NaN"}]`,
		},
		{
			"_t": "1760000000000000000", "_metric": "string only", "_labels": "json {}",
			"_exemplars": `json [{"timeUnixNano":"1760000000000000000","asDouble":1}]`,
		},
	}, rows)
	require.Equal(t, 2, result.Histograms)
	require.Equal(t, 3, result.Exemplars)
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	at := received().UnixMilli()
	one := []prompb.Sample{{Value: 1, Timestamp: at}}
	later, never := []prompb.Sample{{Timestamp: at + 1_000_000}}, []prompb.Sample{{Timestamp: math.MaxInt64}}
	bad := prompb.FromIntHistogram(at, &histogram.Histogram{
		Count: 1, PositiveSpans: []histogram.Span{{Length: 1}}, PositiveBuckets: []int64{5},
	})
	for want, series := range map[string]prompb.TimeSeries{
		"series {\"a\":\"b\"}: the series has no metric name":   {Labels: pairs("a", "b"), Samples: one},
		"label \"a\" is there twice":                            {Labels: pairs("__name__", "m", "a", "b", "a", "c"), Samples: one},
		"label \"__name__\" is there twice":                     {Labels: pairs("__name__", "m", "__name__", "n"), Samples: one},
		"label name \"\\xff\" is empty or not UTF-8":            {Labels: pairs("__name__", "m", "\xff", "b"), Samples: one},
		"the value of label \"a\" is not UTF-8":                 {Labels: pairs("__name__", "m", "a", "\xff"), Samples: one},
		"series m{}: time 2025-10-09T09:10:00Z lies too far in": {Labels: pairs("__name__", "m"), Samples: later},
		"the time of 9223372036854775807 ms is none of":         {Labels: pairs("__name__", "m"), Samples: never},
		"series m{}: histogram: 5 observations found in bucke":  {Labels: pairs("__name__", "m"), Histograms: []prompb.Histogram{bad}},
	} {
		body := marshal(t, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{
			series, {Labels: pairs("__name__", "good"), Samples: one},
		}})
		rows, result := decode(t, body, promwrite.V1)
		require.Len(t, rows, 1, want)
		require.Equal(t, "string good", rows[0]["_metric"])
		require.Equal(t, 1, result.Rejected)
		require.Contains(t, result.Errors[0].Reason, want)
	}
}

func TestManyLabelsRefuseTheirSeries(t *testing.T) {
	t.Parallel()
	labels := pairs("__name__", "m")
	for i := range promwrite.MaxLabels + 1 {
		labels = append(labels, prompb.Label{Name: "l" + strconv.Itoa(i), Value: "v"})
	}
	_, result := decode(t, marshal(t, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{
		{Labels: labels, Samples: []prompb.Sample{{Timestamp: 1}, {Timestamp: 2}}},
	}}), promwrite.V1)
	require.Equal(t, 2, result.Rejected, "each of its samples")
	require.Contains(t, result.Summary(), "more than 256 labels")
}

func TestVersionTwo(t *testing.T) {
	t.Parallel()
	at := received().UnixMilli()
	symbols := []string{"", "__name__", "m", "job", "a", "help of m", "seconds", "trace_id", "x"}
	rows, result := decode(t, marshal(t, &writev2.Request{Symbols: symbols, Timeseries: []writev2.TimeSeries{
		{
			LabelsRefs: []uint32{1, 2, 3, 4}, Samples: []writev2.Sample{{Value: 1, Timestamp: at, StartTimestamp: at - 1000}},
			Exemplars: []writev2.Exemplar{{LabelsRefs: []uint32{7, 8}, Value: 1, Timestamp: at}},
			Metadata:  writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_COUNTER, HelpRef: 5, UnitRef: 6},
		},
		{LabelsRefs: []uint32{1, 2}, Samples: []writev2.Sample{{Value: 2, Timestamp: at}}, Metadata: writev2.Metadata{Type: 1, HelpRef: 5}},
		{LabelsRefs: []uint32{1, 99}, Samples: []writev2.Sample{{Value: 2, Timestamp: at}}},
		{LabelsRefs: []uint32{1}, Samples: []writev2.Sample{{Value: 2, Timestamp: at}}},
		{LabelsRefs: []uint32{1, 2}},
	}}), promwrite.V2)
	require.Equal(t, []wiretest.Row{
		{
			"_t": "1760000000000000000", "_metric": "string m", "_labels": `json {"job":"a"}`, "value": "float64 1",
			"_start":     "timestamp 1759999999000000",
			"_exemplars": `json [{"timeUnixNano":"1760000000000000000","asDouble":1,"filteredAttributes":{"trace_id":"x"}}]`,
		},
		{
			"_t": "1760000000000000000", "_metric": "string m", "_labels": "json {}", "_kind": "string counter", "_monotonic": "bool true",
			"_description": "string help of m", "_unit": "string seconds",
		},
		{"_t": "1760000000000000000", "_metric": "string m", "_labels": "json {}", "value": "float64 2"},
	}, rows)
	require.Equal(t, 2, result.Samples)
	require.Equal(t, 1, result.Exemplars)
	require.Equal(t, 3, result.Rejected)
	require.Contains(t, result.Summary(), "neither samples nor histograms")
	require.Contains(t, result.Summary(), "2 errors like: series {}: a reference to symbol 99 of 9")
}

func TestMetadataOfVersionOne(t *testing.T) {
	t.Parallel()
	rows, _ := decode(t, marshal(t, &prompb.WriteRequest{Metadata: []prompb.MetricMetadata{
		{Type: prompb.MetricMetadata_SUMMARY, MetricFamilyName: "s", Help: "h"}, {MetricFamilyName: "s"}, {MetricFamilyName: ""},
	}}), promwrite.V1)
	require.Equal(t, []wiretest.Row{{
		"_t": "1760000000000000000", "_metric": "string s", "_labels": "json {}", "_kind": "string summary", "_description": "string h",
	}}, rows)
}

func TestBodiesOfAnotherForm(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"\x0a", "\x0a\x05ab", "\x08\x01", "\x0b\x0c", `{"a":1}`} {
		c := wiretest.Collector{T: t}
		result, err := promwrite.Decode([]byte(body), promwrite.V1, stream(), wire.Options{ReceivedAt: received()}, c.Emit)
		if err == nil {
			require.Zero(t, result.Accepted, "%q", body)
			continue
		}
		require.True(t, fault.Is(err, fault.Invalid), "%q: %v", body, err)
	}
}

func TestAStalenessMarkerHasNoValue(t *testing.T) {
	t.Parallel()
	rows, result := decode(t, marshal(t, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{{
		Labels: pairs("__name__", "m"), Samples: []prompb.Sample{{Value: math.Float64frombits(value.StaleNaN), Timestamp: 1}},
	}}}), promwrite.V1)
	require.Equal(t, []wiretest.Row{{"_t": "1000000", "_metric": "string m", "_labels": "json {}", "_flags": "int64 1"}}, rows)
	require.Equal(t, 1, result.Samples)
}
