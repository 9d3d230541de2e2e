package ingress_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/otlp"
)

type labelSender func(ctx context.Context, f *ingress.Front, org tenant.ID, sets ...map[string]string) (wire.Result, error)

// labelSenders write one row for each label set, over each protocol whose rows have label sets.
func labelSenders() map[string]labelSender {
	out := map[string]labelSender{"loki": lokiLabels, "remote write": remoteWriteLabels, "json": jsonLabels}
	for name, enc := range map[string]otlp.Encoding{"otlp protobuf": otlp.Protobuf, "otlp json": otlp.JSON} {
		out[name] = func(ctx context.Context, f *ingress.Front, org tenant.ID, sets ...map[string]string) (wire.Result, error) {
			return otlpLabels(ctx, f, org, enc, sets)
		}
	}
	return out
}

func lokiLabels(ctx context.Context, f *ingress.Front, org tenant.ID, sets ...map[string]string) (wire.Result, error) {
	var streams []any
	for _, set := range sets {
		streams = append(streams, map[string]any{"stream": set, "values": [][]string{{"1741600800000000000", "x"}}})
	}
	body, err := json.Marshal(map[string]any{"streams": streams})
	if err != nil {
		return wire.Result{}, err
	}
	return f.Loki(ctx, ingress.Target{Org: org}, "application/json", "", strings.NewReader(string(body)))
}

func remoteWriteLabels(ctx context.Context, f *ingress.Front, org tenant.ID, sets ...map[string]string) (wire.Result, error) {
	req := &prompb.WriteRequest{}
	for _, set := range sets {
		series := prompb.TimeSeries{
			Labels:  []prompb.Label{{Name: "__name__", Value: "up"}},
			Samples: []prompb.Sample{{Timestamp: 1_741_600_800_000, Value: 1}},
		}
		for _, name := range slices.Sorted(maps.Keys(set)) {
			series.Labels = append(series.Labels, prompb.Label{Name: name, Value: set[name]})
		}
		req.Timeseries = append(req.Timeseries, series)
	}
	body, err := req.Marshal()
	if err != nil {
		return wire.Result{}, err
	}
	packed := strings.NewReader(string(snappy.Encode(nil, body)))
	res, err := f.RemoteWrite(ctx, ingress.Target{Org: org}, "application/x-protobuf", "", packed)
	return res.Result, err
}

func jsonLabels(ctx context.Context, f *ingress.Front, org tenant.ID, sets ...map[string]string) (wire.Result, error) {
	var body strings.Builder
	for _, set := range sets {
		row := map[string]any{"value": 1}
		for name, value := range set {
			row[name] = value
		}
		line, err := json.Marshal(row)
		if err != nil {
			return wire.Result{}, err
		}
		fmt.Fprintf(&body, "%s\n", line)
	}
	return f.JSON(ctx, ingress.Target{Org: org, Signal: signal.Metrics, Stream: "up"}, strings.NewReader(body.String()), "")
}

// otlpLabels writes a gauge for each label set.
func otlpLabels(ctx context.Context, f *ingress.Front, org tenant.ID, enc otlp.Encoding, sets []map[string]string) (wire.Result, error) {
	data := pmetric.NewMetrics()
	metrics := data.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	for _, set := range sets {
		m := metrics.AppendEmpty()
		m.SetName("up")
		point := m.SetEmptyGauge().DataPoints().AppendEmpty()
		point.SetDoubleValue(1)
		point.SetTimestamp(1_741_600_800_000_000_000)
		for name, value := range set {
			point.Attributes().PutStr(name, value)
		}
	}
	req := pmetricotlp.NewExportRequestFromMetrics(data)
	encode := req.MarshalProto
	if enc == otlp.JSON {
		encode = req.MarshalJSON
	}
	body, err := encode()
	if err != nil {
		return wire.Result{}, err
	}
	return f.OTLP(ctx, ingress.Target{Org: org, Signal: signal.Metrics}, body, enc)
}

// TestLabelLimitsUnderEveryProtocol gives one org narrow limits. Under each protocol a row above one is refused alone, with a text that
// names the limit, its value and what was sent, and is counted by its reason; the rows beside it are stored. Other orgs are not concerned.
func TestLabelLimitsUnderEveryProtocol(t *testing.T) {
	t.Parallel()
	good := map[string]string{"a": "1", "b": "2"}
	for name, send := range labelSenders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := prometheus.NewRegistry()
			w := &writer{}
			f := ingress.NewFront(w, ingress.Limits{For: func(org tenant.ID) limits.Limits {
				l := limits.Default()
				if org == "narrow" {
					l.MaxLabelNames, l.MaxLabelNameLength, l.MaxLabelValueLength = 2, 5, 6
				}
				return l
			}}, clock.System{}, reg)
			for _, c := range []struct {
				labels       map[string]string
				reason, want string
			}{
				{map[string]string{"a": "1", "b": "2", "c": "3"}, limits.TooManyLabelNames, `3 labels, the limit is 2 (max_label_names_per_series)`},
				{
					map[string]string{"longname": "1"},
					limits.LabelNameTooLong,
					`label name "longname" has 8 bytes, the limit is 5 (max_label_name_length)`,
				},
				{
					map[string]string{"a": "longvalue"},
					limits.LabelValueTooLong,
					`the value of label "a" has 9 bytes, the limit is 6 (max_label_value_length)`,
				},
			} {
				res, err := send(t.Context(), f, "narrow", good, c.labels, map[string]string{"a": "3"})
				require.NoError(t, err)
				require.Equal(t, []int{2, 1}, []int{res.Accepted, res.Rejected}, c.want)
				require.Contains(t, res.Summary(), c.want)
				require.Len(t, res.Errors, 1)
				require.Equal(t, 1, res.Errors[0].Index)
				require.Contains(t, res.Errors[0].Reason, c.want)
				require.Contains(t, gathered(t, reg), `millstream_discarded_rows_total{org="narrow",reason="`+c.reason+`"} 1`)

				res, err = send(t.Context(), f, "wide", c.labels)
				require.NoError(t, err)
				require.Empty(t, res.Summary())
			}
			require.NotContains(t, gathered(t, reg), "wide")
		})
	}
}

// TestSharedAttributesCountAsLabels sends points whose resource alone has as many labels as a series may have.
func TestSharedAttributesCountAsLabels(t *testing.T) {
	t.Parallel()
	f := ingress.NewFront(&writer{}, ingress.Limits{For: func(tenant.ID) limits.Limits {
		l := limits.Default()
		l.MaxLabelNames = 2
		return l
	}}, clock.System{}, nil)
	body := `{"resourceMetrics":[{"resource":{"attributes":[{"key":"x","value":{"stringValue":"1"}}]},"scopeMetrics":[{"scope":{"name":"s"},` +
		`"metrics":[{"name":"m","gauge":{"dataPoints":[{"asDouble":1},` +
		`{"asDouble":2,"attributes":[{"key":"y","value":{"stringValue":"1"}}]}]}}]}]}]}`
	res, err := f.OTLP(t.Context(), ingress.Target{Org: "o", Signal: signal.Metrics}, []byte(body), otlp.JSON)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{res.Accepted, res.Rejected})
	require.Contains(t, string(otlp.Success(otlp.JSON, signal.Metrics, res)),
		`{"rejectedDataPoints":"1","errorMessage":"1 of 2 data points refused: data point 1: metric m: 3 labels, the limit is 2 `+
			`(max_label_names_per_series)"}`)
}

// TestLineLimitOfOneOrg gives one org a narrow max_line_size.
func TestLineLimitOfOneOrg(t *testing.T) {
	t.Parallel()
	f := ingress.NewFront(&writer{}, ingress.Limits{For: func(org tenant.ID) limits.Limits {
		l := limits.Default()
		if org == "narrow" {
			l.MaxLineSize = 1 << 10
		}
		return l
	}}, clock.System{}, nil)
	body := `{"streams":[{"stream":{"a":"1"},"values":[["1741600800000000000","` + strings.Repeat("x", 1100) + `"]]}]}`
	for org, want := range map[tenant.ID]string{"narrow": `has 1100 bytes, the limit is 1024 (max_line_size)`, "wide": ""} {
		res, err := f.Loki(t.Context(), ingress.Target{Org: org}, "application/json", "", strings.NewReader(body))
		require.NoError(t, err)
		require.Contains(t, res.Summary(), want)
		require.Equal(t, want == "", res.Rejected == 0)
	}
}

// full refuses some points of a batch, as a store does whose org has all the streams it may have.
type full struct{ rows int }

// Write implements ingress.Writer.
func (w full) Write(context.Context, ...*signal.Batch) error {
	return &signal.RefusedSamples{NewStream: w.rows, FirstNewStream: "stream c would be one more than org o may have"}
}

// TestPartialSuccessTellsWhatTheStoreRefused sends metrics of which some would be new streams.
func TestPartialSuccessTellsWhatTheStoreRefused(t *testing.T) {
	t.Parallel()
	f := ingress.NewFront(full{2}, ingress.Limits{}, clock.System{}, nil)
	body := `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[` +
		`{"name":"a","gauge":{"dataPoints":[{"asDouble":1}]}},{"name":"b","gauge":{"dataPoints":[{}]}},` +
		`{"name":"c","gauge":{"dataPoints":[{"asDouble":1},{"asDouble":2}]}}]}]}]}`
	res, err := f.OTLP(t.Context(), ingress.Target{Org: "o", Signal: signal.Metrics}, []byte(body), otlp.JSON)
	require.NoError(t, err)
	require.Contains(t, string(otlp.Success(otlp.JSON, signal.Metrics, res)), `{"rejectedDataPoints":"3","errorMessage":"3 of 4 data points `+
		`refused: 2 like: stream c would be one more than org o may have; data point 1: the data point has no value"}`)
}
