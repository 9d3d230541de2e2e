package otlpgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/otlpgrpc"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/otlp"
)

func TestMain(m *testing.M) {
	otlpgrpc.RegisterCompressors()
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// recorder is a front that decodes and keeps what it was asked, and answers with err if that is set.
type recorder struct {
	err error

	mu      sync.Mutex
	targets []ingress.Target
	rows    int
}

func (r *recorder) Room(org tenant.ID) error {
	if org == "full" {
		return fault.New(fault.Unavailable, "no room").After(time.Second)
	}
	return nil
}

func (r *recorder) OTLP(_ context.Context, t ingress.Target, body []byte, enc otlp.Encoding) (wire.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.targets = append(r.targets, t)
	if r.err != nil {
		return wire.Result{}, r.err
	}
	if len(body) == 3 {
		panic("a defect")
	}
	decode := map[signal.Signal]func([]byte, otlp.Encoding, wire.Options, signal.Stream, wire.Emit) (wire.Result, error){
		signal.Logs: otlp.DecodeLogs, signal.Traces: otlp.DecodeTraces, signal.Metrics: otlp.DecodeMetrics,
	}[t.Signal]
	return decode(body, enc, wire.Options{ReceivedAt: time.Unix(1_741_600_000, 0)}, signal.Stream{}, func(b *signal.Batch) error {
		r.rows += b.Rows()
		b.Release()
		return nil
	})
}

// dial serves front and returns a connection to it.
func dial(t *testing.T, front *recorder, mode auth.Mode, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(otlpgrpc.ServerOptions()...)
	otlpgrpc.NewService(auth.New(mode), front, nil).Register(server)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		server.Stop()
		require.NoError(t, <-done)
	})
	return conn
}

func logs(n int) plogotlp.ExportRequest {
	l := plog.NewLogs()
	records := l.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for range n {
		records.AppendEmpty().Body().SetStr(strings.Repeat("compressible ", 100))
	}
	return plogotlp.NewExportRequestFromLogs(l)
}

func TestAllSignalsAndCompressors(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "gzip", "zstd", "snappy"} {
		t.Run("compressor "+name, func(t *testing.T) {
			t.Parallel()
			front := &recorder{}
			var opts []grpc.DialOption
			if name != "" {
				opts = append(opts, grpc.WithDefaultCallOptions(grpc.UseCompressor(name)))
			}
			conn := dial(t, front, auth.ModeOpen, opts...)
			for range 3 { // decoders are used again
				resp, err := plogotlp.NewGRPCClient(conn).Export(t.Context(), logs(50))
				require.NoError(t, err)
				require.Zero(t, resp.PartialSuccess().RejectedLogRecords())
			}
			traces := ptrace.NewTraces()
			traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty() // has no ids
			resp, err := ptraceotlp.NewGRPCClient(conn).Export(t.Context(), ptraceotlp.NewExportRequestFromTraces(traces))
			require.NoError(t, err)
			require.EqualValues(t, 1, resp.PartialSuccess().RejectedSpans())
			require.Contains(t, resp.PartialSuccess().ErrorMessage(), "no trace id")
			_, err = pmetricotlp.NewGRPCClient(conn).Export(t.Context(), pmetricotlp.NewExportRequest())
			require.NoError(t, err)
			require.Equal(t, 150, front.rows)
		})
	}
}

func TestMetadataChoosesTheTarget(t *testing.T) {
	t.Parallel()
	front := &recorder{}
	conn := dial(t, front, auth.ModeHeader)
	export := func(kv ...string) error {
		_, err := plogotlp.NewGRPCClient(conn).Export(metadata.AppendToOutgoingContext(t.Context(), kv...), logs(1))
		return err
	}
	require.Equal(t, codes.Unauthenticated, status.Code(export()))
	require.Equal(t, codes.InvalidArgument, status.Code(export("X-Scope-OrgID", "a|b")))
	require.NoError(t, export("X-Scope-OrgID", "acme"))
	require.NoError(t, export("X-Scope-OrgID", "acme", "X-Millstream-Stream", "nginx", "X-Millstream-Database", "shop"))
	require.NoError(t, export("X-Scope-OrgID", "acme", "stream-name", "old"))
	require.Equal(t, []ingress.Target{
		{Org: "acme", Signal: signal.Logs},
		{Org: "acme", Database: "shop", Signal: signal.Logs, Stream: "nginx"},
		{Org: "acme", Signal: signal.Logs, Stream: "old"},
	}, front.targets)
}

// TestErrorsBecomeStatuses is the gRPC part of case O04.
func TestErrorsBecomeStatuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		code  codes.Code
		retry time.Duration
		text  string
	}{
		"invalid":  {fault.New(fault.Invalid, "bad field"), codes.InvalidArgument, 0, "bad field"},
		"limited":  {fault.New(fault.Limited, "over rate").After(3 * time.Second), codes.ResourceExhausted, 3 * time.Second, "over rate"},
		"full":     {fault.New(fault.Unavailable, "disk full"), codes.Unavailable, time.Second, "disk full"},
		"internal": {errors.New("secret"), codes.Internal, 0, "internal error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, &recorder{err: c.err}, auth.ModeOpen)
			_, err := plogotlp.NewGRPCClient(conn).Export(t.Context(), logs(1))
			st := status.Convert(err)
			require.Equal(t, c.code, st.Code())
			require.Contains(t, st.Message(), c.text)
			require.NotContains(t, st.Message(), "secret")
			if c.retry == 0 {
				require.Empty(t, st.Details())
				return
			}
			require.Equal(t, c.retry, st.Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration())
		})
	}
}

// raw is a codec of a client that sends bytes.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (raw) Unmarshal([]byte, any) error { return nil }

func TestBodiesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	conn := dial(t, &recorder{}, auth.ModeOpen, grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	export := func(body []byte) error {
		return conn.Invoke(t.Context(), "/opentelemetry.proto.collector.logs.v1.LogsService/Export", body, nil)
	}
	require.NoError(t, export(nil))
	require.Equal(t, codes.InvalidArgument, status.Code(export([]byte("{}"))))
	require.Equal(t, codes.Internal, status.Code(export([]byte("xyz"))), "a panic stays inside its call")
	require.Equal(t, codes.ResourceExhausted, status.Code(export(make([]byte, otlpgrpc.MaxMessageBytes+1))))
}

// TestNothingIsReadOfUnknownCallers begins calls whose message never comes, or is too large: who may not write, or has no room, is told so
// without it.
func TestNothingIsReadOfUnknownCallers(t *testing.T) {
	t.Parallel()
	front := &recorder{}
	conn := dial(t, front, auth.ModeHeader, grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	const method = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
	for name, c := range map[string]struct {
		orgs  []string
		code  codes.Code
		retry bool
	}{
		"no org":  {nil, codes.Unauthenticated, false},
		"two":     {[]string{"a", "b"}, codes.InvalidArgument, false},
		"no name": {[]string{".."}, codes.InvalidArgument, false},
		"no room": {[]string{"full"}, codes.Unavailable, true},
	} {
		var pairs []string
		for _, org := range c.orgs {
			pairs = append(pairs, "x-scope-orgid", org)
		}
		ctx := metadata.AppendToOutgoingContext(t.Context(), pairs...)
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, method)
		require.NoError(t, err, name)
		err = stream.RecvMsg(nil)
		require.Equal(t, c.code, status.Code(err), "%s: %v", name, err)
		require.Equal(t, c.retry, len(status.Convert(err).Details()) == 1, name)
		err = conn.Invoke(ctx, method, make([]byte, otlpgrpc.MaxMessageBytes+1), nil)
		require.Equal(t, c.code, status.Code(err), "%s: %v", name, err)
	}
	require.Empty(t, front.targets)

	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-scope-orgid", "a")
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, method)
	require.NoError(t, err)
	require.NoError(t, stream.CloseSend())
	require.NotEqual(t, codes.OK, status.Code(stream.RecvMsg(nil)), "a call without a message")
	require.Empty(t, front.targets)
}
