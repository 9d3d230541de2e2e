package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/millstream/millstream/internal/testkit/mstest"
	"github.com/millstream/millstream/internal/testkit/smalldisk"
)

// refusal is how an export request was answered; the zero value means that it was taken.
type refusal struct {
	http       int // status; 0 over gRPC
	code       codes.Code
	message    string
	retryAfter time.Duration // of Retry-After; 0 over gRPC
	retryInfo  time.Duration
}

// transports are the three ways of OTLP: each sends a request for the org and reads the answer in the encoding of the request.
func (s store) transports(t *testing.T) map[string]func(org string, r plogotlp.ExportRequest) refusal {
	t.Helper()
	conn, err := grpc.NewClient(s.OTLPGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	post := func(org, media string, body []byte, decode func([]byte, proto.Message) error) refusal {
		res := s.Server.Client(org).Post(t, "/v1/logs", string(body), "Content-Type", media)
		require.Equal(t, media, res.Header.Get("Content-Type"))
		if res.Status == http.StatusOK {
			return refusal{}
		}
		var st status.Status
		require.NoError(t, decode(res.Body, &st), "%q", res.Body)
		r := refused(t, &st)
		r.http = res.Status
		seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
		require.NoError(t, err, "Retry-After is a whole number")
		r.retryAfter = time.Duration(seconds) * time.Second
		return r
	}
	return map[string]func(string, plogotlp.ExportRequest) refusal{
		"protobuf": func(org string, r plogotlp.ExportRequest) refusal {
			body, err := r.MarshalProto()
			require.NoError(t, err)
			return post(org, protobuf, body, proto.Unmarshal)
		},
		"json": func(org string, r plogotlp.ExportRequest) refusal {
			body, err := r.MarshalJSON()
			require.NoError(t, err)
			return post(org, "application/json", body, protojson.Unmarshal)
		},
		"grpc": func(org string, r plogotlp.ExportRequest) refusal {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "x-scope-orgid", org)
			_, err := plogotlp.NewGRPCClient(conn).Export(ctx, r)
			if err == nil {
				return refusal{}
			}
			return refused(t, grpcstatus.Convert(err).Proto())
		},
	}
}

func refused(t *testing.T, st *status.Status) refusal {
	t.Helper()
	r := refusal{code: codes.Code(st.GetCode()), message: st.GetMessage()}
	for _, detail := range st.GetDetails() {
		var info errdetails.RetryInfo
		if detail.UnmarshalTo(&info) == nil {
			r.retryInfo = info.GetRetryDelay().AsDuration()
		}
	}
	return r
}

// logsOf is a request with n bytes of text that no codec makes small.
func logsOf(n int) plogotlp.ExportRequest {
	logs := plog.NewLogs()
	records := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	random := rand.NewChaCha8([32]byte{})
	text := make([]byte, min(n, 100<<10))
	for left := n; left > 0; left -= len(text) {
		_, _ = random.Read(text)
		for i := range text {
			text[i] = 'a' + text[i]%26
		}
		records.AppendEmpty().Body().SetStr(string(text))
	}
	return plogotlp.NewExportRequestFromLogs(logs)
}

// A sender over its org's rate gets 429 or RESOURCE_EXHAUSTED with the time after which the same request passes; other orgs get
// nothing of it. One that can never pass is told so.
func TestCase_O04_OverRate(t *testing.T) {
	t.Parallel()
	s := start(t, "MS_LIMITS_INGESTION_RATE_MB", "0.05", "MS_LIMITS_INGESTION_BURST_SIZE_MB", "0.1")
	const burst = 104858 // 0.1 MiB, rounded up
	for name, send := range s.transports(t) {
		org := "org-" + name
		require.Zero(t, send(org, logsOf(80<<10)), name)
		r := send(org, logsOf(80<<10))
		require.Equal(t, codes.ResourceExhausted, r.code, "%s: %+v", name, r)
		require.Contains(t, r.message, "ingestion rate limit exceeded for org "+org+": limit 52429 bytes/s", name)
		require.Positive(t, r.retryInfo, name)
		require.LessOrEqual(t, r.retryInfo, 3*time.Second, name)
		if r.http != 0 {
			require.Equal(t, http.StatusTooManyRequests, r.http, name)
			require.GreaterOrEqual(t, r.retryAfter, r.retryInfo, name)
			require.Less(t, r.retryAfter-r.retryInfo, time.Second, name)
		}
		require.Zero(t, send(org+"-neighbour", logsOf(80<<10)), name)
		require.NoError(t, mstest.WaitFor(t.Context(), func(context.Context) error {
			if again := send(org, logsOf(80<<10)); again != (refusal{}) {
				return fmt.Errorf("%+v", again)
			}
			return nil
		}), "%s passes after a while", name)
		rows := s.Server.Client(org).Query(t, "SELECT count(*) FROM otel_logs")
		require.Equal(t, "2", text(rows[0][0]), "%s: a refused request leaves nothing", name)
		require.Positive(t, s.metric(t, `millstream_discarded_bytes_total{org="`+org+`",reason="rate_limited"}`))
	}
	never, err := logsOf(2 * burst).MarshalProto()
	require.NoError(t, err)
	res := s.Post(t, "/v1/logs", string(never), "Content-Type", protobuf)
	require.Equal(t, http.StatusRequestEntityTooLarge, res.Status)
	require.Empty(t, res.Header.Get("Retry-After"))
	var st status.Status
	require.NoError(t, proto.Unmarshal(res.Body, &st))
	require.Contains(t, st.GetMessage(), "ingestion_burst_size_mb")
}

// Other protocols tell an org's rate in their own dress: JSON with what of a stream is stored, one line of text for Loki, Elasticsearch's
// error for a bulk request as a whole.
func TestOverRateInEveryDress(t *testing.T) {
	t.Parallel()
	s := start(t, "MS_LIMITS_INGESTION_RATE_MB", "0.05", "MS_LIMITS_INGESTION_BURST_SIZE_MB", "0.1")
	line := strings.Repeat("x", 1000)
	send := func(org, path, media, body string) mstest.Response {
		return s.Server.Client(org).Post(t, path, body, "Content-Type", media)
	}
	limited := func(res mstest.Response) {
		t.Helper()
		require.Equal(t, http.StatusTooManyRequests, res.Status, "%s", res.Body)
		require.Contains(t, string(res.Body), "ingestion rate limit exceeded for org ")
		seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
		require.NoError(t, err)
		require.Positive(t, seconds)
	}
	rows := strings.Repeat(`{"m":"`+line+`"}`+"\n", 90)
	require.Equal(t, http.StatusOK, send("json", "/api/v1/intake/logs/s", "application/x-ndjson", rows).Status)
	res := send("json", "/api/v1/intake/logs/s", "application/x-ndjson", rows)
	limited(res)
	require.NotContains(t, string(res.Body), "settled", "nothing of it is stored")

	res = send("stream", "/api/v1/intake/logs/s", "application/x-ndjson", rows+rows)
	limited(res)
	var told struct{ Accepted, Settled int }
	require.NoError(t, json.Unmarshal(res.Body, &told))
	require.InDelta(t, 103, told.Settled, 1, "the rows of the first 0.1 MiB")
	require.Equal(t, told.Settled, told.Accepted)
	require.Equal(t, strconv.Itoa(told.Accepted), text(s.Server.Client("stream").Query(t, "SELECT count(*) FROM s")[0][0]))

	push := `{"streams":[{"stream":{"job":"a"},"values":[["` + strconv.FormatInt(time.Now().UnixNano(), 10) + `","` +
		strings.Repeat(line, 90) + `"]]}]}`
	require.Equal(t, http.StatusNoContent, send("loki", "/loki/api/v1/push", "application/json", push).Status)
	res = send("loki", "/loki/api/v1/push", "application/json", push)
	limited(res)
	require.Equal(t, 1, strings.Count(strings.TrimSpace(string(res.Body))+"\n", "\n"), "one line")

	bulk := strings.Repeat(`{"create":{"_index":"i"}}`+"\n"+`{"m":"`+line+`"}`+"\n", 80)
	require.Equal(t, http.StatusOK, send("bulk", "/_bulk", "application/x-ndjson", bulk).Status)
	res = send("bulk", "/_bulk", "application/x-ndjson", bulk)
	limited(res)
	var failed struct {
		Error  struct{ Type, Reason string }
		Status int
		Items  []any
	}
	require.NoError(t, json.Unmarshal(res.Body, &failed))
	require.Equal(t, http.StatusTooManyRequests, failed.Status)
	require.Empty(t, failed.Items, "the request as a whole")
	require.Equal(t, "80", text(s.Server.Client("bulk").Query(t, "SELECT count(*) FROM i")[0][0]))
}

// A log that cannot grow refuses with 503 or UNAVAILABLE until there is room again.
func TestCase_O04_LogFull(t *testing.T) {
	t.Parallel()
	program, err := mstest.Program()
	require.NoError(t, err)
	smalldisk.Run(t, "64m", logFull, mstest.EnvProgram+"="+program)
}

func logFull(t *testing.T, dir string) {
	t.Helper()
	env := map[string]string{"MS_INTAKE_FLUSH_INTERVAL_SECS": lazily}
	server := mstest.Start(t, mstest.Config{DataDir: filepath.Join(dir, "data"), Env: env})
	s := store{Server: server, Client: server.Client("t1")}
	transports := s.transports(t)
	taken := 0
	for name, send := range transports {
		require.Zero(t, send("t1", logsOf(1000)), name)
		taken++
	}
	filler := filepath.Join(dir, "filler")
	fill(t, filler)
	var r refusal
	for r == (refusal{}) { // what room the log had is used up first
		if r = transports["grpc"]("t1", logsOf(mib)); r == (refusal{}) {
			taken += 11 // records of a request of that size
		}
	}
	for name, send := range transports {
		r := send("t1", logsOf(mib))
		require.Equal(t, codes.Unavailable, r.code, "%s: %+v", name, r)
		require.NotEmpty(t, r.message, name)
		require.Positive(t, r.retryInfo, name)
		if r.http != 0 {
			require.Equal(t, http.StatusServiceUnavailable, r.http, name)
			require.Positive(t, r.retryAfter, name)
		}
	}
	require.NoError(t, os.Remove(filler))
	for name, send := range transports {
		require.NoError(t, mstest.WaitFor(t.Context(), func(context.Context) error {
			if again := send("t1", logsOf(1000)); again != (refusal{}) {
				return fmt.Errorf("%+v", again)
			}
			return nil
		}), "%s passes once there is room", name)
		taken++
	}
	require.Equal(t, strconv.Itoa(taken), s.one(t, "SELECT count(*) FROM otel_logs"), "what was refused is not there, what was taken is")
}

// fill writes a file until the file system has no room.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close() //nolint:errcheck // it is full
	block := make([]byte, 64<<10)
	for len(block) > 0 {
		_, err := f.Write(block)
		switch {
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, io.ErrShortWrite):
			block = block[:len(block)/2]
		default:
			require.NoError(t, err)
		}
	}
}
