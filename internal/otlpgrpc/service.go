package otlpgrpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/ingress"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/otlp"
)

// MaxMessageBytes is the greatest size of a message, inflated. A larger one is RESOURCE_EXHAUSTED without RetryInfo, which clients
// do not send again.
const MaxMessageBytes = 32 << 20

// Metadata keys that choose where rows go; an empty or absent one leaves the default.
const (
	streamKey      = "x-millstream-stream"
	streamKeyAlias = "stream-name"
	databaseKey    = "x-millstream-database"
)

// authenticator finds out who sent a call: auth.Authenticator.
type authenticator interface {
	GRPC(ctx context.Context, need auth.Right) (auth.Principal, error)
}

// front stores the records of an export request: ingress.Front. It keeps body only until it returns.
type front interface {
	// Room fails when the org's requests that are being read hold all that they may.
	Room(org tenant.ID) error
	OTLP(ctx context.Context, t ingress.Target, body []byte, enc otlp.Encoding) (wire.Result, error)
}

// Service answers the Export calls of the three signals. It is safe for concurrent use.
type Service struct {
	auth   authenticator
	front  front
	logger *slog.Logger
}

// NewService returns a Service. A nil logger discards.
func NewService(auth authenticator, front front, logger *slog.Logger) *Service {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Service{auth: auth, front: front, logger: logger}
}

// ServerOptions returns the options that a server of these services needs. Other services may stand on the same server.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ForceServerCodecV2(newCodec()), grpc.MaxRecvMsgSize(MaxMessageBytes)}
}

// Register adds the LogsService, TraceService and MetricsService of OTLP to a server made with ServerOptions.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	for _, sig := range signal.All() {
		r.RegisterService(describe(sig), s)
	}
}

// describe makes Export a stream of one message each way, which is the same on the wire: a unary handler of grpc-go is called only when the
// message was read and inflated, and who calls is to be known before.
func describe(sig signal.Signal) *grpc.ServiceDesc {
	name := map[signal.Signal]string{
		signal.Logs:    "opentelemetry.proto.collector.logs.v1.LogsService",
		signal.Traces:  "opentelemetry.proto.collector.trace.v1.TraceService",
		signal.Metrics: "opentelemetry.proto.collector.metrics.v1.MetricsService",
	}[sig]
	return &grpc.ServiceDesc{
		ServiceName: name,
		HandlerType: (*exporter)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName: "Export",
			Handler:    func(srv any, stream grpc.ServerStream) error { return srv.(exporter).export(sig, stream) },
		}},
	}
}

// exporter is what gRPC checks a registered service for.
type exporter interface {
	export(sig signal.Signal, stream grpc.ServerStream) error
}

// export stores a request and turns an error into the call's status.
func (s *Service) export(sig signal.Signal, stream grpc.ServerStream) error {
	org, result, err := s.store(stream, sig)
	if err == nil {
		return stream.SendMsg(&message{otlp.Success(otlp.Protobuf, sig, result)})
	}
	if unread, ok := errors.AsType[*unreadError](err); ok {
		return unread.status
	}
	if k := fault.KindOf(err); k == fault.Internal || k == fault.Corrupt {
		s.logger.ErrorContext(stream.Context(), "otlp export failed", "org", string(org), "signal", sig.String(), "error", err)
	}
	return status.FromProto(otlp.Status(err)).Err()
}

// unreadError is a message that gRPC could not read, in its own words.
type unreadError struct{ status error }

// Error implements error.
func (e *unreadError) Error() string { return e.status.Error() }

// store judges who calls and whether the org has room for one more message, and only then reads it.
func (s *Service) store(stream grpc.ServerStream, sig signal.Signal) (org tenant.ID, res wire.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	ctx := stream.Context()
	who, err := s.auth.GRPC(ctx, auth.Write)
	if err != nil {
		return "", res, err
	}
	org = who.Org()
	if err := s.front.Room(org); err != nil {
		return org, res, err
	}
	var req message
	if err := stream.RecvMsg(&req); err != nil {
		return org, res, &unreadError{err}
	}
	md, _ := metadata.FromIncomingContext(ctx)
	target := ingress.Target{Org: org, Database: first(md, databaseKey), Signal: sig, Stream: first(md, streamKey, streamKeyAlias)}
	res, err = s.front.OTLP(ctx, target, req.data, otlp.Protobuf)
	return org, res, err
}

// first returns the first value that is not empty of the first key that has one.
func first(md metadata.MD, keys ...string) string {
	for _, k := range keys {
		for _, v := range md.Get(k) {
			if v != "" {
				return v
			}
		}
	}
	return ""
}
