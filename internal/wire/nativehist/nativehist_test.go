package nativehist_test

import (
	"math"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/wire/nativehist"
)

func TestEveryHistogramComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) histogram.Span {
			return histogram.Span{Offset: rapid.Int32().Draw(t, "offset"), Length: rapid.Uint32().Draw(t, "length")}
		}), 1, 4)
		hint := rapid.SampledFrom([]histogram.CounterResetHint{
			histogram.UnknownCounterReset, histogram.CounterReset, histogram.NotCounterReset, histogram.GaugeType,
		})
		h := &histogram.Histogram{
			CounterResetHint: hint.Draw(t, "hint"), Schema: rapid.Int32().Draw(t, "schema"), Count: rapid.Uint64().Draw(t, "count"),
			Sum: rapid.Float64().Draw(t, "sum"), ZeroThreshold: rapid.Float64().Draw(t, "threshold"), ZeroCount: rapid.Uint64().Draw(t, "zero"),
			PositiveSpans: spans.Draw(t, "positive spans"), NegativeSpans: spans.Draw(t, "negative spans"),
			PositiveBuckets: rapid.SliceOfN(rapid.Int64(), 1, 8).Draw(t, "positive"),
			NegativeBuckets: rapid.SliceOfN(rapid.Int64(), 1, 8).Draw(t, "negative"),
			CustomValues:    rapid.SliceOfN(rapid.Float64(), 1, 3).Draw(t, "custom"),
		}
		var p nativehist.Parser
		text := nativehist.Append(nil, h)
		require.True(t, nativehist.IsNative(text))
		got, none, err := p.Parse(text)
		require.NoError(t, err)
		require.Nil(t, none)
		require.Equal(t, h, got)

		f := &histogram.FloatHistogram{
			CounterResetHint: h.CounterResetHint, Schema: h.Schema, Count: rapid.Float64().Draw(t, "float count"), Sum: h.Sum,
			ZeroThreshold: h.ZeroThreshold, ZeroCount: rapid.Float64().Draw(t, "float zero"), PositiveSpans: h.PositiveSpans,
			NegativeSpans: h.NegativeSpans, PositiveBuckets: rapid.SliceOfN(rapid.Float64(), 1, 8).Draw(t, "float positive"),
			NegativeBuckets: rapid.SliceOfN(rapid.Float64(), 1, 8).Draw(t, "float negative"), CustomValues: h.CustomValues,
		}
		text = nativehist.AppendFloat(nil, f)
		nothing, gotFloat, err := p.Parse(text)
		require.NoError(t, err)
		require.Nil(t, nothing)
		require.Equal(t, f, gotFloat)
	})
}

func TestSpecialSums(t *testing.T) {
	t.Parallel()
	for name, sum := range map[string]float64{
		"stale": math.Float64frombits(value.StaleNaN), "NaN": math.Float64frombits(value.NormalNaN), "+Inf": math.Inf(1), "-Inf": math.Inf(-1),
	} {
		text := nativehist.Append(nil, &histogram.Histogram{Sum: sum})
		require.JSONEq(t, `{"count":0,"sum":"`+name+`","schema":0}`, string(text))
		var p nativehist.Parser
		h, _, err := p.Parse(text)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(sum), math.Float64bits(h.Sum))
	}
}

func TestWhatIsNoStoredHistogram(t *testing.T) {
	t.Parallel()
	var p nativehist.Parser
	for _, text := range []string{``, `{`, `{"count":1,"sum":"x","schema":1}`} {
		_, _, err := p.Parse([]byte(text))
		require.True(t, fault.Is(err, fault.Corrupt), text)
	}
	require.False(t, nativehist.IsNative([]byte(`{"count":1,"explicitBounds":[1]}`)))
}
