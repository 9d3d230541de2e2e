package hostile_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// headerServer is a server that believes the org header, as behind a gateway.
func headerServer(t *testing.T) *mstest.Server {
	t.Helper()
	return mstest.Start(t, mstest.Config{Env: map[string]string{"MS_AUTH_MODE": "header", "MS_INTAKE_FLUSH_INTERVAL_SECS": "3600"}})
}

// raw sends the bytes of one request on a connection of its own and returns the answer.
func raw(t *testing.T, address, request string) (status int, body string) {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(t.Context(), "tcp", strings.TrimPrefix(address, "http://"))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err, "%q", request)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(text)
}

// TestOrgHeadersOnTheWire sends org headers that no HTTP client would send, on a raw connection, to every kind of route that writes or
// reads. Each is a 400 that says what is wrong, whatever the body is, and nothing is stored or read under any of the names.
func TestOrgHeadersOnTheWire(t *testing.T) {
	t.Parallel()
	s := headerServer(t)
	const line = `{"message":"x"}`
	routes := []struct{ port, method, path, contentType, body string }{
		{s.HTTP, http.MethodPost, "/api/v1/intake/logs/app", "application/json", line},
		{s.HTTP, http.MethodPost, "/loki/api/v1/push", "application/json", `{"streams":[]}`},
		{s.HTTP, http.MethodPost, "/api/v1/write", "application/x-protobuf", ""},
		{s.HTTP, http.MethodPost, "/_bulk", "application/x-ndjson", "{\"create\":{\"_index\":\"app\"}}\n" + line + "\n"},
		{s.HTTP, http.MethodPost, "/v1/logs", "application/json", "{}"},
		{s.OTLPHTTP, http.MethodPost, "/v1/metrics", "application/json", "{}"},
		{s.HTTP, http.MethodPost, "/api/v1/query", "application/json", `{"statement":"SELECT 1"}`},
		{s.HTTP, http.MethodGet, "/api/v1/query?statement=SHOW+STREAMS", "", ""},
		{s.HTTP, http.MethodGet, "/prometheus/api/v1/query?query=up", "", ""},
		{s.HTTP, http.MethodGet, "/prometheus/api/v1/labels", "", ""},
		{s.HTTP, http.MethodPost, "/prometheus/api/v1/read", "application/x-protobuf", ""},
		{s.HTTP, http.MethodGet, "/config/tenant/v1/limits", "", ""},
	}
	headers := map[string]struct{ lines, want string }{
		"NUL":                         {"X-Scope-OrgID: alpha\x00beta\r\n", "400 Bad Request"},
		"NUL at the end":              {"X-Scope-OrgID: alpha\x00\r\n", "400 Bad Request"},
		"NUL in the name":             {"X-Scope-OrgID\x00: alpha\r\n", "400 Bad Request"},
		"DEL":                         {"X-Scope-OrgID: alpha\x7f\r\n", "400 Bad Request"},
		"twice":                       {"X-Scope-OrgID: alpha\r\nX-Scope-OrgID: beta\r\n", "X-Scope-OrgID is given 2 times"},
		"twice the same":              {"X-Scope-OrgID: alpha\r\nX-Scope-OrgID: alpha\r\n", "X-Scope-OrgID is given 2 times"},
		"twice, in letters of others": {"X-Scope-OrgID: alpha\r\nx-scope-orgid: beta\r\n", "X-Scope-OrgID is given 2 times"},
		"twice, one empty":            {"X-Scope-OrgID:\r\nX-Scope-OrgID: beta\r\n", "X-Scope-OrgID is given 2 times"},
		"with a tab":                  {"X-Scope-OrgID: al\tpha\r\n", "org id"},
		"folded":                      {"X-Scope-OrgID: alpha\r\n beta\r\n", ""},
	}
	for _, r := range routes {
		request := func(lines string) string {
			head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%s", r.method, r.path, lines)
			if r.method == http.MethodPost {
				head += fmt.Sprintf("Content-Type: %s\r\nContent-Length: %d\r\n", r.contentType, len(r.body))
			}
			return head + "\r\n" + r.body
		}
		for name, h := range headers {
			code, body := raw(t, r.port, request(h.lines))
			require.Equal(t, http.StatusBadRequest, code, "%s %s: %s", r.path, name, body)
			require.Contains(t, body, h.want, "%s %s", r.path, name)
			require.NotContains(t, body, "\x00")
		}
		code, body := raw(t, r.port, request(""))
		require.Equal(t, http.StatusUnauthorized, code, "%s: %s", r.path, body)
	}
	for _, org := range []string{"alpha", "beta", "alphabeta", "alpha beta"} {
		if res := s.Client(org).Get(t, "/api/v1/query?statement=SHOW+STREAMS"); res.Status == http.StatusOK {
			require.NotContains(t, string(res.Body), "app", org)
		}
	}
	require.True(t, s.Running())
}

// TestOrgMetadataOnTheWire doubles the org in the metadata of gRPC calls: INVALID_ARGUMENT, under every service.
func TestOrgMetadataOnTheWire(t *testing.T) {
	t.Parallel()
	s := headerServer(t)
	conn, err := grpc.NewClient(s.OTLPGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	logs := plog.NewLogs()
	logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body().SetStr("x")
	calls := map[string]func(ctx context.Context) error{
		"logs": func(ctx context.Context) error {
			_, err := plogotlp.NewGRPCClient(conn).Export(ctx, plogotlp.NewExportRequestFromLogs(logs))
			return err
		},
		"metrics": func(ctx context.Context) error {
			_, err := pmetricotlp.NewGRPCClient(conn).Export(ctx, pmetricotlp.NewExportRequest())
			return err
		},
		"traces": func(ctx context.Context) error {
			_, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, ptraceotlp.NewExportRequest())
			return err
		},
	}
	for name, call := range calls {
		for _, orgs := range [][]string{{"alpha", "beta"}, {"alpha", "alpha"}, {"", "alpha"}} {
			err := call(metadata.AppendToOutgoingContext(t.Context(), "x-scope-orgid", orgs[0], "X-Scope-OrgID", orgs[1]))
			require.Equal(t, codes.InvalidArgument, status.Code(err), "%s %q: %v", name, orgs, err)
			require.Equal(t, "X-Scope-OrgID is given 2 times", status.Convert(err).Message())
		}
		for _, org := range []string{"..", "alpha|beta", "alpha|", "a/b"} {
			err := call(metadata.AppendToOutgoingContext(t.Context(), "x-scope-orgid", org))
			require.Equal(t, codes.InvalidArgument, status.Code(err), "%s %q: %v", name, org, err)
		}
		require.Equal(t, codes.Unauthenticated, status.Code(call(t.Context())), name)
		require.NoError(t, call(metadata.AppendToOutgoingContext(t.Context(), "x-scope-orgid", "gamma")), name)
	}
	for _, org := range []string{"alpha", "beta"} {
		require.NotContains(t, string(s.Client(org).Get(t, "/api/v1/query?statement=SHOW+STREAMS").Body), "otel_logs")
	}
}

// TestNULInMetadata writes frames of HTTP/2 with a NUL in the org, which no gRPC client sends: HTTP/2 forbids such a field, so the call
// ends with a protocol error before any service sees it, and the connection lives on.
func TestNULInMetadata(t *testing.T) {
	t.Parallel()
	s := headerServer(t)
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(t.Context(), "tcp", s.OTLPGRPC)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, http2.ClientPreface)
	require.NoError(t, err)
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	require.NoError(t, framer.WriteSettings())
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	call := func(stream uint32, org string) {
		t.Helper()
		block.Reset()
		for _, f := range [][2]string{
			{":method", "POST"},
			{":scheme", "http"},
			{":path", "/opentelemetry.proto.collector.logs.v1.LogsService/Export"},
			{":authority", "a"},
			{"content-type", "application/grpc"},
			{"te", "trailers"},
			{"x-scope-orgid", org},
		} {
			require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
		}
		require.NoError(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true}))
		require.NoError(t, framer.WriteData(stream, true, make([]byte, 5))) // an empty message
	}
	// answer returns how the stream ended: the code of its reset, or its gRPC status.
	answer := func(stream uint32) string {
		t.Helper()
		for {
			frame, err := framer.ReadFrame()
			require.NoError(t, err)
			if frame.Header().StreamID != stream {
				continue
			}
			switch f := frame.(type) {
			case *http2.RSTStreamFrame:
				return f.ErrCode.String()
			case *http2.MetaHeadersFrame:
				for _, field := range f.Fields {
					if field.Name == "grpc-status" {
						return field.Value
					}
				}
			}
		}
	}
	call(1, "alpha\x00beta")
	require.Equal(t, "PROTOCOL_ERROR", answer(1))
	call(3, "gamma")
	require.Equal(t, "0", answer(3))
}
