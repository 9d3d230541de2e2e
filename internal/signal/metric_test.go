package signal_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/signal"
)

func TestMetricBuilder(t *testing.T) {
	t.Parallel()
	b := signal.NewBuilder()
	m := signal.NewMetricBuilder(b)
	var labels signal.LabelSet
	labels.Add([]byte("host"), []byte("b\"\n"))
	labels.Add([]byte("app"), []byte("a"))
	labels.Add([]byte("gone"), nil)
	require.False(t, labels.Add([]byte("app"), []byte("second")))
	require.Equal(t, 2, labels.Len())
	m.Append(&signal.Sample{Name: []byte("up"), Labels: &labels, Nanos: 1_000, Value: 0, HasValue: true})
	labels.Reset()
	m.Append(&signal.Sample{
		Name: []byte("latency"), Labels: &labels, Nanos: -1, Kind: signal.MetricSum, Unit: []byte("s"), Monotonic: true,
		Temporality: signal.TemporalityDelta, StartNanos: -1, Histogram: []byte(`{"count":1}`), Flags: 1,
	})
	r := b.Finish()
	defer r.Release()
	require.NoError(t, signal.CheckRecord(r))
	require.Equal(t, []map[string]string{
		{"_t": "1000", "_metric": "string up", "_labels": `json {"app":"a","host":"b\"\n"}`, "value": "float64 0"},
		{
			"_t": "-1", "_metric": "string latency", "_labels": "json {}", "_kind": "string sum",
			"_unit":      "string s",
			"_monotonic": "bool true", "_temporality": "string delta", "_start": "timestamp -1", "_histogram": `json {"count":1}`,
			"_flags": "int64 1",
		},
	}, read(r))
}

func TestAppendJSONString(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SliceOf(rapid.Byte()).Draw(t, "s")
		text := signal.AppendJSONString(nil, s)
		var got string
		require.NoError(t, json.Unmarshal(text, &got), "%q", text)
		require.Equal(t, strings.ToValidUTF8(eachBadByte(s), "\uFFFD"), got)
	})
}

// eachBadByte parts runs of invalid bytes, which ToValidUTF8 would replace by one rune.
func eachBadByte(s []byte) string {
	var out strings.Builder
	for _, r := range string(s) {
		out.WriteRune(r)
	}
	return out.String()
}
