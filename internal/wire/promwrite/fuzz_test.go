package promwrite_test

import (
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/promwrite"
	"github.com/millstream/millstream/internal/wire/wiretest"
)

// FuzzV1 takes Prometheus' own decoder for the judge: what we read it reads, with as many samples and histograms.
func FuzzV1(f *testing.F) {
	f.Add(marshal(f, &prompb.WriteRequest{
		Timeseries: []prompb.TimeSeries{{
			Labels: pairs("__name__", "m", "a", "b"), Samples: []prompb.Sample{{Value: 1, Timestamp: 2}},
			Exemplars:  []prompb.Exemplar{{Labels: pairs("t", "x"), Value: 1, Timestamp: 2}},
			Histograms: []prompb.Histogram{prompb.FromIntHistogram(1, &histogram.Histogram{Count: 1, ZeroCount: 1})},
		}},
		Metadata: []prompb.MetricMetadata{{Type: 1, MetricFamilyName: "m", Help: "h", Unit: "u"}},
	}))
	f.Fuzz(func(t *testing.T, body []byte) {
		result, ok := fuzzed(t, body, promwrite.V1)
		var judge prompb.WriteRequest
		if err := judge.Unmarshal(body); err != nil {
			require.True(t, !ok || result.Rejected > 0, "the judge says: %v; a refused series is not looked into", err)
			return
		}
		if !ok {
			return // groups are refused here and skipped there
		}
		n := 0
		for _, s := range judge.Timeseries {
			n += len(s.Samples) + len(s.Histograms)
		}
		require.LessOrEqual(t, result.Samples+result.Histograms, n)
		require.GreaterOrEqual(t, result.Samples+result.Histograms+result.Rejected, n)
	})
}

// FuzzV2 is FuzzV1 for version 2.0.
func FuzzV2(f *testing.F) {
	f.Add(marshal(f, &writev2.Request{
		Symbols: []string{"", "__name__", "m", "t", "x"},
		Timeseries: []writev2.TimeSeries{{
			LabelsRefs: []uint32{1, 2}, Samples: []writev2.Sample{{Value: 1, Timestamp: 2, StartTimestamp: 1}},
			Exemplars:  []writev2.Exemplar{{LabelsRefs: []uint32{3, 4}, Value: 1, Timestamp: 2}},
			Histograms: []writev2.Histogram{writev2.FromIntHistogram(1, 2, &histogram.Histogram{Count: 1, ZeroCount: 1})},
			Metadata:   writev2.Metadata{Type: 1, HelpRef: 2, UnitRef: 3},
		}},
	}))
	f.Fuzz(func(t *testing.T, body []byte) {
		result, ok := fuzzed(t, body, promwrite.V2)
		var judge writev2.Request
		if err := judge.Unmarshal(body); err != nil {
			require.True(t, !ok || result.Rejected > 0, "the judge says: %v; a refused series is not looked into", err)
			return
		}
		if !ok {
			return
		}
		n := 0
		for _, s := range judge.Timeseries {
			n += len(s.Samples) + len(s.Histograms)
		}
		require.LessOrEqual(t, result.Samples+result.Histograms, n)
		require.GreaterOrEqual(t, result.Samples+result.Histograms+result.Rejected, n)
	})
}

// fuzzed decodes a body of any form; ok tells whether it could be read.
func fuzzed(t *testing.T, body []byte, v promwrite.Version) (result promwrite.Result, ok bool) {
	t.Helper()
	c := wiretest.Collector{T: t, Discard: true}
	result, err := promwrite.Decode(body, v, stream(), wire.Options{ReceivedAt: received()}, func(b *signal.Batch) error {
		return c.Emit(b)
	})
	known := promwrite.NewKnown(1 << 16)
	for range 2 {
		k := wiretest.Collector{T: t, Discard: true}
		again, knownErr := known.Decode(body, v, stream(), wire.Options{ReceivedAt: received()}, k.Emit)
		require.Equal(t, err == nil, knownErr == nil)
		require.Equal(t, result, again)
		require.Equal(t, c.Total(), k.Total())
	}
	if err != nil {
		require.True(t, fault.Is(err, fault.Invalid), "%v", err)
		return result, false
	}
	require.Equal(t, result.Accepted, c.Total())
	return result, true
}
