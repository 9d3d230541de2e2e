package httpapi_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/httpapi"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// discard stores nothing and says yes.
type discard struct{}

func (discard) Write(context.Context, ...*signal.Batch) error { return nil }

// refusing is a server that has used up a limit of 1000 rows a second by 3000 rows, and a byte rate of 1000 by 2001 bytes of 3000.
type refusing struct {
	limit   string // "rows" or "bytes"
	handler http.Handler
}

func newRefusing(t *testing.T, limit string, options map[string]string) refusing {
	t.Helper()
	c := clock.NewFake(time.Unix(1_741_600_800, 0))
	front := ingress.Limits{Options: func(tenant.ID, string) map[string]string { return options }}
	if limit == "rows" {
		front.Rows = quota.NewRows(quota.RowsOptions{Clock: c, Limit: func(quota.Database) quota.RowLimit {
			return quota.RowLimit{PerSecond: 1000}
		}})
	} else {
		front.For = func(tenant.ID) limits.Limits {
			l := limits.Default()
			l.IngestionRate, l.IngestionBurst = 1000, 30_000
			return l
		}
	}
	s := refusing{limit, httpapi.New(httpapi.Deps{
		Auth: auth.New(auth.ModeOpen), Front: ingress.NewFront(discard{}, front, c, nil),
		Metrics: http.NotFoundHandler(), Logger: slog.New(slog.DiscardHandler),
	})}
	body := "[" + strings.TrimSuffix(strings.Repeat("{\"a\":1}, ", 3000), ", ") + "]" // 26,999 bytes
	require.Equal(t, http.StatusOK, s.post("/api/v1/intake/logs/s", "application/json", body+strings.Repeat(" ", 3000)).Code)
	return s
}

func (s refusing) post(path, contentType, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	if strings.Contains(path, "write") {
		r.Header.Set("Content-Encoding", "snappy")
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// requireLimited checks the parts that every protocol's refusal has and returns the text in which the limit tells itself.
func (s refusing) requireLimited(t *testing.T, w *httptest.ResponseRecorder, status int) (text string) {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body)
	wait, err := strconv.Atoi(w.Header().Get("Retry-After"))
	require.NoError(t, err, "whole seconds")
	if s.limit == "rows" {
		require.Equal(t, 3, wait, "2.001 s, rounded up")
		require.Equal(t, "6001", w.Header().Get("x-greptime-err-code"))
		require.Contains(t, w.Header().Get("x-greptime-err-msg"), `database "public": 1 rows refused`)
		return `database "public": 1 rows refused, quota 1000 rows/s, limit 1000 rows/s (ingest_rows_rate_limit), retry in 2.001s`
	}
	require.Positive(t, wait)
	require.LessOrEqual(t, wait, 30+30/4)
	return "ingestion rate limit exceeded for org default: limit 1000 bytes/s (limits.ingestion_rate_mb), burst 30000 bytes"
}

func bothLimits(t *testing.T, test func(t *testing.T, s refusing)) {
	t.Helper()
	for _, limit := range []string{"rows", "bytes"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			test(t, newRefusing(t, limit, nil))
		})
	}
}

func TestLimitedJSON(t *testing.T) {
	t.Parallel()
	bothLimits(t, func(t *testing.T, s refusing) {
		w := s.post("/api/v1/intake/logs/s", "application/json", `[{"a":1}]`)
		text := s.requireLimited(t, w, http.StatusTooManyRequests)
		var body map[string]any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
		require.Contains(t, body["message"], text)
		require.NotEmpty(t, body["request_id"])
		if s.limit == "bytes" {
			require.Equal(t, "limited", body["error"])
			return
		}
		delete(body, "message")
		delete(body, "request_id")
		require.Contains(t, body, "execution_time_ms")
		delete(body, "execution_time_ms")
		require.Equal(t, map[string]any{
			"error": "RateLimited", "code": 6001.0, "database": "public", "rejected_rows": 1.0, "current_quota": 1000.0, "limit": 1000.0,
		}, body)
	})
}

// TestLimitedOTLP answers a google.rpc.Status in the request's own content type.
func TestLimitedOTLP(t *testing.T) {
	t.Parallel()
	bothLimits(t, func(t *testing.T, s refusing) {
		record := []byte{0x0a, 0x06, 0x12, 0x04, 0x12, 0x02, 0x10, 0x01} // one resource, scope and record with a severity
		for contentType, c := range map[string]struct {
			body  string
			parse func([]byte, proto.Message) error
		}{
			"application/json":       {`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}`, protojson.Unmarshal},
			"application/x-protobuf": {string(record), proto.Unmarshal},
		} {
			for _, path := range []string{"/v1/logs", "/api/v1/intake/otlp/v1/logs"} {
				w := s.post(path, contentType, c.body)
				text := s.requireLimited(t, w, http.StatusTooManyRequests)
				require.Equal(t, contentType, w.Header().Get("Content-Type"))
				var st spb.Status
				require.NoError(t, c.parse(w.Body.Bytes(), &st), w.Body)
				require.EqualValues(t, 8, st.GetCode(), "RESOURCE_EXHAUSTED")
				require.Contains(t, st.GetMessage(), text)
				var info errdetails.RetryInfo
				require.NoError(t, st.GetDetails()[0].UnmarshalTo(&info))
				if s.limit == "rows" {
					require.Equal(t, 2001*time.Millisecond, info.GetRetryDelay().AsDuration())
				}
				require.Positive(t, info.GetRetryDelay().AsDuration())
			}
		}
	})
}

// TestLimitedRemoteWrite answers 429, or 503 where the database chooses so, and says that nothing is written.
func TestLimitedRemoteWrite(t *testing.T) {
	t.Parallel()
	request := writev2.Request{
		Symbols:    []string{"", "__name__", "up"},
		Timeseries: []writev2.TimeSeries{{LabelsRefs: []uint32{1, 2}, Samples: []writev2.Sample{{Timestamp: 1_741_600_000_000}}}},
	}
	plain, err := request.Marshal()
	require.NoError(t, err)
	send := func(s refusing) *httptest.ResponseRecorder {
		return s.post("/api/v1/write", "application/x-protobuf;proto=io.prometheus.write.v2.Request", string(snappy.Encode(nil, plain)))
	}
	check := func(t *testing.T, s refusing, status int) {
		t.Helper()
		w := send(s)
		require.Contains(t, w.Body.String(), s.requireLimited(t, w, status))
		for _, what := range []string{"Samples", "Histograms", "Exemplars"} {
			require.Equal(t, "0", w.Header().Get("X-Prometheus-Remote-Write-"+what+"-Written"))
		}
	}
	bothLimits(t, func(t *testing.T, s refusing) { check(t, s, http.StatusTooManyRequests) })
	for _, limit := range []string{"rows", "bytes"} {
		s := newRefusing(t, limit, map[string]string{"remote_write_reject_status": "503"})
		check(t, s, http.StatusServiceUnavailable)
		w := s.post("/api/v1/intake/logs/s", "application/json", `[{"a":1}]`)
		require.Equal(t, http.StatusTooManyRequests, w.Code, "of remote write alone")
	}
}

// TestLimitedLoki answers one line of text.
func TestLimitedLoki(t *testing.T) {
	t.Parallel()
	bothLimits(t, func(t *testing.T, s refusing) {
		w := s.post("/loki/api/v1/push", "application/json", `{"streams":[{"stream":{"a":"b"},"values":[["1741600800000000000","x"]]}]}`)
		text := s.requireLimited(t, w, http.StatusTooManyRequests)
		require.True(t, strings.HasPrefix(w.Body.String(), text), w.Body)
		require.Equal(t, 1, strings.Count(w.Body.String(), "\n"))
	})
}

// TestLimitedBulk refuses the request, never items of it.
func TestLimitedBulk(t *testing.T) {
	t.Parallel()
	bothLimits(t, func(t *testing.T, s refusing) {
		w := s.post("/_bulk", "application/x-ndjson", "{\"create\":{\"_index\":\"i\"}}\n{\"a\":1}\n")
		text := s.requireLimited(t, w, http.StatusTooManyRequests)
		var body struct {
			Error  struct{ Type, Reason string }
			Status int
			Items  []any
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
		require.Equal(t, "es_rejected_execution_exception", body.Error.Type)
		require.Contains(t, body.Error.Reason, text)
		require.Equal(t, http.StatusTooManyRequests, body.Status)
		require.Empty(t, body.Items)
	})
}

// TestNoHeaderIsTheMark sends what a client might try to pass for a write of the process's own.
func TestNoHeaderIsTheMark(t *testing.T) {
	t.Parallel()
	s := newRefusing(t, "rows", nil)
	for _, header := range []string{"X-Millstream-Internal", "Internal", "X-Internal", "X-Greptime-Internal", "Millstream-Flow"} {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/intake/logs/s?internal=true", strings.NewReader(`[{"a":1}]`))
		r.Header.Set(header, "true")
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		require.Equal(t, http.StatusTooManyRequests, w.Code, header)
	}
}

// TestRetryAfterIsSpread looks at the wait of a long debt: bounded, and not the same for all.
func TestRetryAfterIsSpread(t *testing.T) {
	t.Parallel()
	s := newRefusing(t, "rows", nil)
	seen := map[string]bool{}
	for range 5 { // each refused request costs nothing, so the debt has to grow by one that passes
		w := s.post("/api/v1/intake/logs/s", "application/json", `[{"a":1}]`)
		require.Equal(t, "3", w.Header().Get("Retry-After"))
	}
	long := newRefusing(t, "bytes", nil)
	body := "[" + strings.TrimSuffix(strings.Repeat("{\"a\":1},", 3500), ",") + "]"
	for range 200 {
		w := long.post("/api/v1/intake/logs/s", "application/json", body)
		require.Equal(t, http.StatusTooManyRequests, w.Code)
		seen[w.Header().Get("Retry-After")] = true
	}
	require.Greater(t, len(seen), 3)
	for value := range seen {
		wait, err := strconv.Atoi(value)
		require.NoError(t, err)
		require.GreaterOrEqual(t, wait, 28)
		require.LessOrEqual(t, wait, 37)
	}
}
