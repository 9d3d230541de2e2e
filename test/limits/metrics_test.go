package limits_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// gauge adds a point of a metric with a number of labels.
func gauge(to pmetric.MetricSlice, name string, labels int) {
	m := to.AppendEmpty()
	m.SetName(name)
	point := m.SetEmptyGauge().DataPoints().AppendEmpty()
	point.SetDoubleValue(1)
	for i := range labels {
		point.Attributes().PutStr(string(rune('a'+i)), "x")
	}
}

// TestLimitsOfMetricsUnderEveryProtocol sends metrics whose labels or names are too many over OTLP and as JSON: the good points of a
// request are stored, the others told with the limit in the protocol's own way, and a request of which nothing may be stored is refused.
func TestLimitsOfMetricsUnderEveryProtocol(t *testing.T) {
	t.Parallel()
	s, _ := start(t, "overrides:\n  http: &narrow {max_global_streams_per_user: 2, max_label_names_per_series: 3}\n"+
		"  grpc: *narrow\n  json: *narrow\n", nil)
	conn, err := grpc.NewClient(s.OTLPGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	overGRPC := func(d pmetric.Metrics) (pmetricotlp.ExportResponse, error) {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-scope-orgid", "grpc")
		return pmetricotlp.NewGRPCClient(conn).Export(ctx, pmetricotlp.NewExportRequestFromMetrics(d))
	}
	overHTTP := func(d pmetric.Metrics) (out pmetricotlp.ExportResponse, err error) {
		body, err := pmetricotlp.NewExportRequestFromMetrics(d).MarshalProto()
		require.NoError(t, err)
		res := s.Client("http").Post(t, "/v1/metrics", string(body), "Content-Type", "application/x-protobuf")
		if res.Status != http.StatusOK {
			require.Equal(t, http.StatusTooManyRequests, res.Status)
			requireWait(t, res)
			return out, status.Error(codes.ResourceExhausted, string(res.Body))
		}
		out = pmetricotlp.NewExportResponse()
		return out, out.UnmarshalProto(res.Body)
	}
	for org, export := range map[string]func(pmetric.Metrics) (pmetricotlp.ExportResponse, error){"grpc": overGRPC, "http": overHTTP} {
		d := pmetric.NewMetrics()
		points := d.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
		gauge(points, "one", 3)
		gauge(points, "one", 4)
		gauge(points, "two", 1)
		gauge(points, "three", 1)
		reply, err := export(d)
		require.NoError(t, err, org)
		require.EqualValues(t, 2, reply.PartialSuccess().RejectedDataPoints(), org)
		for _, want := range []string{
			"data point 1: metric one: 4 labels, the limit is 3 (max_label_names_per_series)",
			"stream three would be one more than org " + org + " may have", "limits.max_global_streams_per_user",
		} {
			require.Contains(t, reply.PartialSuccess().ErrorMessage(), want, org)
		}
		stored := s.Client(org).Query(t, "SELECT (SELECT count(*) FROM metrics.one), (SELECT count(*) FROM metrics.two)")
		require.Equal(t, [][]any{{"1", "1"}}, texts(stored), org)

		d = pmetric.NewMetrics()
		gauge(d.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics(), "four", 1)
		_, err = export(d)
		require.Equal(t, codes.ResourceExhausted, status.Code(err), "%s: %v", org, err)
		require.ErrorContains(t, err, "limits.max_global_streams_per_user", org)
	}
	jsonMetrics(t, s.Client("json"))
	text := string(s.Client("json").Get(t, "/metrics").Body)
	for _, org := range []string{"grpc", "http", "json"} {
		require.Contains(t, text, `millstream_discarded_rows_total{org="`+org+`",reason="max_label_names_per_series"} 1`)
		require.Contains(t, text, `millstream_discarded_rows_total{org="`+org+`",reason="stream_limit"} 2`)
	}
}

// jsonMetrics sends lines of metrics.
func jsonMetrics(t *testing.T, c mstest.Client) {
	t.Helper()
	lines := []string{`{"value":1,"a":"x"}`, `{"value":1,"a":"x","b":"x","c":"x","d":"x"}`, `{"value":1,"b":"x"}`}
	res := c.Post(t, "/api/v1/intake/metrics/one", strings.Join(lines, "\n"))
	require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
	var reply struct {
		Accepted, Rejected int
		Errors             []struct {
			Index  int
			Reason string
		}
	}
	require.NoError(t, json.Unmarshal(res.Body, &reply))
	require.Equal(t, []int{2, 1}, []int{reply.Accepted, reply.Rejected})
	require.Len(t, reply.Errors, 1)
	require.Equal(t, 1, reply.Errors[0].Index)
	require.Equal(t, "line 2: 4 labels, the limit is 3 (max_label_names_per_series)", reply.Errors[0].Reason)
	require.Equal(t, http.StatusOK, c.Post(t, "/api/v1/intake/metrics/two", `{"value":1}`).Status)
	res = c.Post(t, "/api/v1/intake/metrics/three", strings.Repeat(`{"value":1}`+"\n", 2))
	require.Equal(t, http.StatusTooManyRequests, res.Status, "%s", res.Body)
	requireWait(t, res)
	require.Contains(t, string(res.Body), "limits.max_global_streams_per_user")
}
