package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const protobuf = "application/x-protobuf"

// spans wraps spans of OTLP/JSON into a request.
func spans(list ...string) string {
	return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Join(list, ",") + `]}]}]}`
}

// span returns a span of OTLP/JSON; more is further members, with a comma in front.
func span(trace, id, more string) string {
	return fmt.Sprintf(`{"traceId":%q,"spanId":%q,"name":"s","startTimeUnixNano":"1741600000000000000"%s}`, trace, id, more)
}

const traceID, spanID = "008efff798038103d269b633813fc703", "00f067aa0ba902b7"

// 64-bit numbers are exact as strings and as numbers; what is neither is refused by its path.
func TestCase_O01(t *testing.T) {
	t.Parallel()
	s := start(t)
	for i, q := range []string{`"`, ``} { // numbers as strings, as numbers
		more := fmt.Sprintf(`,"kind":2,"events":[{"timeUnixNano":%[1]s1741600000000000001%[1]s,"name":"e"}],`+
			`"attributes":[{"key":"n","value":{"intValue":%[1]s-5%[1]s}},{"key":"form","value":{"stringValue":"%[2]d"}}]`, q, i)
		res := s.Post(t, "/v1/traces", spans(span(traceID, spanID, more)))
		require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
		require.JSONEq(t, `{}`, string(res.Body))
		metric := fmt.Sprintf(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[`+
			`{"name":"big","sum":{"aggregationTemporality":2,"dataPoints":[{"timeUnixNano":%[1]s1741600000000000001%[1]s,`+
			`"asInt":%[1]s9223372036854775807%[1]s,"attributes":[{"key":"form","value":{"stringValue":"%[2]d"}}]}]}},`+
			`{"name":"h","histogram":{"aggregationTemporality":2,"dataPoints":[{"count":%[1]s3%[1]s,"bucketCounts":[%[1]s1%[1]s,%[1]s2%[1]s],`+
			`"explicitBounds":[5],"timeUnixNano":1741600000000000002}]}}]}]}]}`, q, i)
		res = s.Post(t, "/v1/metrics", metric)
		require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
	}
	res := s.Post(t, "/v1/traces", spans(span(traceID, spanID, `,"endTimeUnixNano":"x"`)))
	require.Equal(t, http.StatusBadRequest, res.Status)
	require.Contains(t, string(res.Body), "resourceSpans[0].scopeSpans[0].spans[0].endTimeUnixNano")
	for kind, want := range map[string]string{`"SPAN_KIND_CLIENT"`: "client", `3`: "client", `99`: "99"} {
		res := s.Post(t, "/v1/traces", spans(span(traceID, spanID, `,"kind":`+kind)), "X-Millstream-Stream", "kinds")
		require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
		require.Contains(t, s.column(t, "SELECT kind FROM traces.kinds"), want)
	}
	res = s.Post(t, "/v1/traces", spans(span(traceID, spanID, `,"kind":"SPAN_KIND_NONE"`)))
	require.Equal(t, http.StatusBadRequest, res.Status, "%s", res.Body)

	s.stages(t, func(t *testing.T) {
		require.Equal(t, []string{"-5", "-5"}, s.column(t, "SELECT n FROM otel_traces"))
		for _, event := range s.column(t, "SELECT events FROM otel_traces") {
			require.JSONEq(t, `[{"timeUnixNano":"1741600000000000001","name":"e"}]`, event)
		}
		require.Equal(t, []string{"9223372036854775807", "9223372036854775807"},
			s.column(t, "SELECT json_extract_string(_overflow, '$.asInt') FROM metrics.big"))
		for _, h := range s.column(t, "SELECT _histogram FROM metrics.h") {
			require.JSONEq(t, `{"count":3,"bucketCounts":[1,2],"explicitBounds":[5]}`, h)
		}
	})
}

// Ids are hexadecimal of any case and the right length, anything else is refused; keys in snake_case count; no request is half read.
func TestCase_O02(t *testing.T) {
	t.Parallel()
	s := start(t)
	ok := func(body string, pairs ...string) {
		t.Helper()
		res := s.Post(t, "/v1/traces", body, pairs...)
		require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
		require.JSONEq(t, `{}`, string(res.Body), body)
	}
	ok(spans(span(traceID, spanID, "")))
	ok(spans(span(strings.ToUpper(traceID), strings.ToUpper(spanID), "")))
	ok(strings.NewReplacer("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "traceId", "trace_id", "spanId", "span_id",
		"startTimeUnixNano", "start_time_unix_nano").Replace(spans(span(traceID, spanID, ""))))
	ok(spans(span(traceID, spanID, `,"tomorrow":{"a":[1]}`)))
	require.Equal(t, []string{traceID}, s.column(t, "SELECT DISTINCT trace_id FROM otel_traces"))
	require.Equal(t, []string{spanID}, s.column(t, "SELECT DISTINCT span_id FROM otel_traces"))
	require.Equal(t, "4", s.one(t, "SELECT count(*) FROM otel_traces"))

	base := base64.StdEncoding.EncodeToString([]byte("0123456789abcdef"))
	for id, field := range map[string]string{base: "traceId", traceID[2:]: "traceId", "zz" + traceID[2:]: "traceId"} {
		res := s.Post(t, "/v1/traces", spans(span(id, spanID, "")))
		require.Equal(t, http.StatusBadRequest, res.Status, "%s", res.Body)
		require.Contains(t, string(res.Body), field)
	}
	res := s.Post(t, "/v1/traces", spans(span("", spanID, "")))
	require.Equal(t, http.StatusOK, res.Status)
	require.Contains(t, string(res.Body), `"rejectedSpans":"1"`)
	require.Equal(t, http.StatusBadRequest, s.Post(t, "/v1/traces", spans(span(traceID, spanID, "")), "Content-Type", protobuf).Status)
	logs := plog.NewLogs()
	logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("x")
	body, err := plogotlp.NewExportRequestFromLogs(logs).MarshalProto()
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, s.Post(t, "/v1/logs", string(body)).Status)
	require.Equal(t, http.StatusUnsupportedMediaType, s.Post(t, "/v1/logs", string(body), "Content-Type", "text/plain").Status)
	require.Equal(t, "4", s.one(t, "SELECT count(*) FROM otel_traces"))
}

// A request that is bad in part is told in its own encoding: partial success for records, a Status for the whole.
func TestCase_O04(t *testing.T) {
	t.Parallel()
	s := start(t, "MS_LIMITS_MAX_LINE_SIZE", "1KiB")
	request := func(good, bad int) plogotlp.ExportRequest {
		logs := plog.NewLogs()
		records := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for i := range good + bad {
			records.AppendEmpty().Body().SetStr(strings.Repeat("x", 1+i/good*2000))
		}
		return plogotlp.NewExportRequestFromLogs(logs)
	}
	allBad := func() plogotlp.ExportRequest {
		logs := plog.NewLogs()
		records := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		for range 3 {
			records.AppendEmpty().Body().SetStr(strings.Repeat("x", 2000))
		}
		return plogotlp.NewExportRequestFromLogs(logs)
	}
	conn, err := grpc.NewClient(s.OTLPGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // nothing to lose
	export := map[string]func(plogotlp.ExportRequest) plogotlp.ExportResponse{
		"protobuf": func(r plogotlp.ExportRequest) plogotlp.ExportResponse {
			body, err := r.MarshalProto()
			require.NoError(t, err)
			res := s.Post(t, "/v1/logs", string(body), "Content-Type", protobuf)
			require.Equal(t, http.StatusOK, res.Status)
			require.Equal(t, protobuf, res.Header.Get("Content-Type"))
			out := plogotlp.NewExportResponse()
			require.NoError(t, out.UnmarshalProto(res.Body))
			return out
		},
		"json": func(r plogotlp.ExportRequest) plogotlp.ExportResponse {
			body, err := r.MarshalJSON()
			require.NoError(t, err)
			res := s.Post(t, "/v1/logs", string(body))
			require.Equal(t, http.StatusOK, res.Status)
			require.Equal(t, "application/json", res.Header.Get("Content-Type"))
			out := plogotlp.NewExportResponse()
			require.NoError(t, out.UnmarshalJSON(res.Body))
			return out
		},
		"grpc": func(r plogotlp.ExportRequest) plogotlp.ExportResponse {
			out, err := plogotlp.NewGRPCClient(conn).Export(t.Context(), r)
			require.NoError(t, err)
			return out
		},
	}
	for name, send := range export {
		partial := send(request(2, 1)).PartialSuccess()
		require.EqualValues(t, 1, partial.RejectedLogRecords(), name)
		require.Contains(t, partial.ErrorMessage(), "max_line_size", name)
		require.EqualValues(t, 3, send(allBad()).PartialSuccess().RejectedLogRecords(), name)
		whole := send(request(1, 0)).PartialSuccess()
		require.Zero(t, whole.RejectedLogRecords())
		require.Empty(t, whole.ErrorMessage())
	}
	require.Equal(t, "6", s.one(t, "SELECT count(*) FROM otel_logs"))
	require.Equal(t, [][]any{{json.Number("3")}}, s.Server.Client("default").Query(t, "SELECT count(*) FROM otel_logs"), "sent without an org")

	res := s.Post(t, "/v1/logs", "\xff\xff\xff", "Content-Type", protobuf)
	require.Equal(t, http.StatusBadRequest, res.Status)
	require.Equal(t, protobuf, res.Header.Get("Content-Type"))
	var st status.Status
	require.NoError(t, proto.Unmarshal(res.Body, &st))
	require.NotEmpty(t, st.GetMessage())
	res = s.Post(t, "/v1/logs", "{]")
	require.Equal(t, http.StatusBadRequest, res.Status)
	var decoded struct{ Message string }
	require.NoError(t, json.Unmarshal(res.Body, &decoded))
	require.NotEmpty(t, decoded.Message)
	bad := []byte{0xff, 0xff, 0xff}
	err = conn.Invoke(t.Context(), "/opentelemetry.proto.collector.logs.v1.LogsService/Export", &bad, &bad, grpc.ForceCodec(rawCodec{}))
	require.Equal(t, codes.InvalidArgument, grpcstatus.Code(err), "%v", err)
}

// rawCodec sends and receives bytes as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (rawCodec) Name() string                       { return "proto" }

// Deltas stay deltas and say so, whatever a counter's points are; histograms of every scale are whole; a sum over deltas is the total. A
// counter that began anew tells it by its start. (Deltas and scales are never converted on the way in: docs/protocol/otlp.md.)
func TestCase_O05(t *testing.T) {
	t.Parallel()
	s := start(t)
	metrics := pmetric.NewMetrics()
	list := metrics.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	at := time.Now().Add(-time.Minute)
	delta := list.AppendEmpty()
	delta.SetName("orders")
	sum := delta.SetEmptySum()
	sum.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	sum.SetIsMonotonic(true)
	for i, v := range []int64{3, 4, 5} {
		p := sum.DataPoints().AppendEmpty()
		p.SetStartTimestamp(pcommon.NewTimestampFromTime(at.Add(time.Duration(i) * time.Second)))
		p.SetTimestamp(pcommon.NewTimestampFromTime(at.Add(time.Duration(i+1) * time.Second)))
		p.SetIntValue(v)
	}
	restarted := list.AppendEmpty()
	restarted.SetName("restarted")
	total := restarted.SetEmptySum()
	total.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	total.SetIsMonotonic(true)
	for i, v := range []int64{10, 14, 2} {
		p := total.DataPoints().AppendEmpty()
		p.SetStartTimestamp(pcommon.NewTimestampFromTime(at.Add(time.Duration(i/2) * 2 * time.Second)))
		p.SetTimestamp(pcommon.NewTimestampFromTime(at.Add(time.Duration(i+1) * time.Second)))
		p.SetIntValue(v)
	}
	deltas := list.AppendEmpty()
	deltas.SetName("latency")
	parts := deltas.SetEmptyHistogram()
	parts.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	for i := range 2 {
		p := parts.DataPoints().AppendEmpty()
		p.SetTimestamp(pcommon.NewTimestampFromTime(at.Add(time.Duration(i+1) * time.Second)))
		p.ExplicitBounds().FromRaw([]float64{1, 5})
		p.BucketCounts().FromRaw([]uint64{uint64(i), 2, 3})
		p.SetCount(uint64(i) + 5)
		p.SetSum(7.5)
	}
	for _, c := range []struct {
		name        string
		temporality pmetric.AggregationTemporality
		scale       int32
		counts      []uint64
	}{
		{"fine", pmetric.AggregationTemporalityDelta, 20, []uint64{1, 2, 3}},
		{"finer", pmetric.AggregationTemporalityCumulative, 10, []uint64{4}},
		{"coarse", pmetric.AggregationTemporalityCumulative, -11, []uint64{5, 6}},
		{"zero", pmetric.AggregationTemporalityDelta, 0, nil},
	} {
		m := list.AppendEmpty()
		m.SetName(c.name)
		h := m.SetEmptyExponentialHistogram()
		h.SetAggregationTemporality(c.temporality)
		p := h.DataPoints().AppendEmpty()
		p.SetTimestamp(pcommon.NewTimestampFromTime(at))
		p.SetScale(c.scale)
		p.SetZeroCount(7)
		p.Positive().SetOffset(-3)
		p.Positive().BucketCounts().FromRaw(c.counts)
		count := uint64(7)
		for _, n := range c.counts {
			count += n
		}
		p.SetCount(count)
		p.SetSum(1.5)
	}
	body, err := pmetricotlp.NewExportRequestFromMetrics(metrics).MarshalProto()
	require.NoError(t, err)
	res := s.Post(t, "/v1/metrics", string(body), "Content-Type", protobuf)
	require.Equal(t, http.StatusOK, res.Status)
	require.Empty(t, res.Body)

	s.stages(t, func(t *testing.T) {
		require.Equal(t, "12", s.one(t, "SELECT sum(value) FROM metrics.orders WHERE _temporality = 'delta' AND _monotonic"))
		require.Equal(t, "3", s.one(t, "SELECT count(DISTINCT _start) FROM metrics.orders"))
		require.Equal(t, []string{"3", "4", "5"}, s.column(t, "SELECT value FROM metrics.orders ORDER BY _timestamp"))
		require.Equal(t, "0", s.one(t, "SELECT count(*) FROM metrics.orders WHERE _temporality IS DISTINCT FROM 'delta'"))
		s.requirePromQL(t, at.Add(time.Minute))
		// An increase over a restart: the greatest value of each start.
		require.Equal(t, "16", s.one(t, "SELECT sum(top) FROM (SELECT max(value) AS top FROM metrics.restarted "+
			"WHERE _temporality = 'cumulative' GROUP BY _start)"))
		// Buckets of deltas add up.
		require.Equal(t, []string{"1", "4", "6"}, s.column(t, "SELECT sum(n::BIGINT) FROM (SELECT "+
			"unnest(json_extract(_histogram, '$.bucketCounts[*]')) AS n, unnest([0, 1, 2]) AS i FROM metrics.latency) GROUP BY i ORDER BY i"))
		require.Equal(t, "11", s.one(t, "SELECT sum(json_extract(_histogram, '$.count')::BIGINT) FROM metrics.latency "+
			"WHERE _temporality = 'delta'"))
		for name, want := range map[string][2]string{
			"fine":   {"delta", `{"count":13,"sum":1.5,"scale":20,"zeroCount":7,"positive":{"offset":-3,"bucketCounts":[1,2,3]}}`},
			"finer":  {"cumulative", `{"count":11,"sum":1.5,"scale":10,"zeroCount":7,"positive":{"offset":-3,"bucketCounts":[4]}}`},
			"coarse": {"cumulative", `{"count":18,"sum":1.5,"scale":-11,"zeroCount":7,"positive":{"offset":-3,"bucketCounts":[5,6]}}`},
			"zero":   {"delta", `{"count":7,"sum":1.5,"scale":0,"zeroCount":7,"positive":{"offset":-3,"bucketCounts":[]}}`},
		} {
			row := s.Query(t, "SELECT _temporality, _histogram, value FROM metrics."+name)
			require.Len(t, row, 1)
			require.Equal(t, want[0], row[0][0], name)
			require.Nil(t, row[0][2])
			var got, expected map[string]any
			require.NoError(t, json.Unmarshal([]byte(text(row[0][1])), &got))
			require.NoError(t, json.Unmarshal([]byte(want[1]), &expected))
			for key, v := range expected {
				if key != "scale" || v != float64(0) { // zero values may be left out
					require.Equal(t, v, got[key], "%s %s of %v", name, key, got)
				}
			}
		}
	})
}

// requirePromQL asks PromQL for the metrics of case O05 at a time: there deltas are totals, and scales are lowered as far as Prometheus
// needs it.
func (s store) requirePromQL(t *testing.T, at time.Time) {
	t.Helper()
	for expression, want := range map[string]string{
		"max_over_time(orders_total[5m])":                  "12",
		"resets(orders_total[5m])":                         "0",
		"increase(orders_total[5m]) > bool 8":              "1", // nine between the first sample and the last, and what is extrapolated
		"resets(restarted_total[5m])":                      "1",
		"increase(restarted_total[5m]) > bool 5":           "1", // four, a restart, two
		"latency_count":                                    "11",
		`latency_bucket{le="5"}`:                           "5",
		`latency_bucket{le="+Inf"}`:                        "11",
		"histogram_quantile(0.2, latency_bucket)":          "2.2", // of 5 below 5 one lies below 1
		"histogram_count(fine)":                            "13",
		"histogram_sum(finer)":                             "1.5",
		"histogram_count(finer)":                           "11",
		"histogram_quantile(0.99, finer) > bool 0.99":      "1",
		"histogram_quantile(0.99, finer) < bool 1.01":      "1",
		"abs(histogram_quantile(0.1, zero)) < bool 1e-100": "1",
		"histogram_count(zero)":                            "7",
		"absent(coarse)":                                   "1", // a scale below -4
	} {
		require.Equal(t, want, s.prom(t, expression, at), expression)
	}
}

// prom returns the value of the only sample of a PromQL expression at a time.
func (s store) prom(t *testing.T, expression string, at time.Time) string {
	t.Helper()
	res := s.Get(t, "/prometheus/api/v1/query?"+url.Values{"query": {expression}, "time": {strconv.FormatInt(at.Unix(), 10)}}.Encode())
	require.Equal(t, http.StatusOK, res.Status, "%s: %s", expression, res.Body)
	var answer struct {
		Data struct{ Result []struct{ Value []any } }
	}
	require.NoError(t, json.Unmarshal(res.Body, &answer), "%s", res.Body)
	require.Len(t, answer.Data.Result, 1, "%s: %s", expression, res.Body)
	return text(answer.Data.Result[0].Value[1])
}

// Ids keep their zeros; ids of zeros refuse their span alone; parents may be absent, the span itself, or sent twice.
func TestCase_O07(t *testing.T) {
	t.Parallel()
	s := start(t)
	short := "0000000000000000d269b633813fc703"
	res := s.Post(t, "/v1/traces", spans(
		span(traceID, "0000000000000001", ""), span(short, "0000000000000002", `,"parentSpanId":"0000000000000002"`),
		span(traceID, "0000000000000003", `,"parentSpanId":"00000000000000ff"`),
		span(traceID, "0000000000000003", `,"parentSpanId":"00000000000000ff"`),
		span(traceID, "0000000000000000", ""), span(strings.Repeat("0", 32), spanID, ""),
	))
	require.Equal(t, http.StatusOK, res.Status)
	require.Contains(t, string(res.Body), `"rejectedSpans":"2"`)
	s.stages(t, func(t *testing.T) {
		require.Equal(t, []string{short, traceID}, s.column(t, "SELECT DISTINCT trace_id FROM otel_traces ORDER BY trace_id"))
		require.Equal(t, "3", s.one(t, "SELECT count(*) FROM otel_traces WHERE trace_id = '"+traceID+"'"))
		require.Equal(t, "3", s.one(t, "SELECT count(*) FROM otel_traces WHERE trace_id = lower('"+strings.ToUpper(traceID)+"')"))
		require.Equal(t, []string{"0000000000000001", "0000000000000002", "0000000000000003", "0000000000000003"},
			s.column(t, "SELECT span_id FROM otel_traces ORDER BY span_id"))
		// A walk over parents ends.
		require.Equal(t, "1", s.one(t, `WITH RECURSIVE up AS (SELECT span_id, parent_span_id FROM otel_traces WHERE span_id = '0000000000000002'
			UNION SELECT p.span_id, p.parent_span_id FROM otel_traces p JOIN up ON p.span_id = up.parent_span_id) SELECT count(*) FROM up`))
	})
}
