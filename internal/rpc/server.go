package rpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/fresh"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire/arrowipc"
)

// Names of the calls.
const (
	serviceName  = "millstream.internal.v1.Node"
	methodPing   = "/" + serviceName + "/Ping"
	methodAppend = "/" + serviceName + "/Append"
	methodFresh  = "/" + serviceName + "/Snapshot"
	methodAsk    = "/" + serviceName + "/Ask"
	methodPromQL = "/" + serviceName + "/AnswerPromQL"
	methodRead   = "/" + serviceName + "/ReadPrometheus"
	methodForget = "/" + serviceName + "/ForgetDatabase"
	methodSplit  = "/" + serviceName + "/Split"
)

// MaxMessageBytes bounds a message: the greatest batch of a body of 64 MiB, with room.
const MaxMessageBytes = 256 << 20

// Sizes of a connection: a batch of some megabytes goes through in one piece instead of waiting for the other side every 64 KiB.
const (
	windowBytes = 8 << 20
	bufferBytes = 256 << 10
)

// Appender makes batches durable: ingest.Ingest.
type Appender interface {
	Write(ctx context.Context, batches ...*signal.Batch) error
	// ForgetDatabase makes the next write to a stream of the database ask the catalog again.
	ForgetDatabase(org tenant.ID, database string)
}

// Holder reads the fresh rows of this process.
type Holder interface {
	// Hold returns them and the writer epochs that they are complete for.
	Hold(ctx context.Context, q fresh.Request) (fresh.Result, []catalog.WriterKey, error)
}

// Services are what a node offers to others. Nil ones are answered as Unavailable.
type Services struct {
	Appender Appender
	// Refused reports whether an error of Appender says that nothing of the batch is or will be stored.
	Refused  func(error) bool
	Holder   Holder
	Answerer answer.Answerer
	PromQL   promapi.Answerer
	PromRead promapi.Reader
	// Open returns nil while batches and statements are taken, else why they are refused (draining). Fresh rows are always given.
	Open func() error
}

// Server answers the calls.
type Server struct {
	services Services
	logger   *slog.Logger
	codec    arrowipc.Codec
}

// NewServer returns a gRPC server of the services. A caller without the token is refused before its message is read.
func NewServer(clusterToken string, s Services, logger *slog.Logger) *grpc.Server {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(codec{}), grpc.InTapHandle(newToken(clusterToken).admit),
		grpc.MaxRecvMsgSize(MaxMessageBytes), grpc.MaxSendMsgSize(MaxMessageBytes),
		grpc.InitialWindowSize(windowBytes), grpc.InitialConnWindowSize(windowBytes), grpc.ReadBufferSize(bufferBytes),
		grpc.WriteBufferSize(bufferBytes))
	server.RegisterService(describe(), &Server{services: s, logger: logger})
	return server
}

func describe() *grpc.ServiceDesc {
	unary := func(f func(*Server, context.Context, *frame) (*frame, error)) func(
		any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
		return func(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (reply any, err error) {
			in := new(frame)
			if err := decode(in); err != nil {
				return nil, status.Error(codes.InvalidArgument, err.Error())
			}
			s := srv.(*Server) //nolint:forcetypeassert // registered with it
			defer func() { err = s.recovered(recover(), err) }()
			return f(s, ctx, in)
		}
	}
	stream := func(f func(*Server, *frame, grpc.ServerStream) error) grpc.StreamHandler {
		return func(srv any, out grpc.ServerStream) (err error) {
			in := new(frame)
			if err := out.RecvMsg(in); err != nil {
				return err
			}
			s := srv.(*Server) //nolint:forcetypeassert // registered with it
			defer func() { err = s.recovered(recover(), err) }()
			return f(s, in, out)
		}
	}
	return &grpc.ServiceDesc{
		ServiceName: serviceName, HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			{MethodName: "Ping", Handler: unary((*Server).ping)},
			{MethodName: "Append", Handler: unary((*Server).append)},
			{MethodName: "ForgetDatabase", Handler: unary((*Server).forgetDatabase)},
			{MethodName: "Split", Handler: unary((*Server).split)},
			{MethodName: "AnswerPromQL", Handler: unary((*Server).answerPromQL)},
		},
		Streams: []grpc.StreamDesc{
			{StreamName: "Snapshot", Handler: stream((*Server).snapshot), ServerStreams: true},
			{StreamName: "Ask", Handler: stream((*Server).ask), ServerStreams: true},
			{StreamName: "ReadPrometheus", Handler: stream((*Server).readPrometheus), ServerStreams: true},
		},
	}
}

// recovered returns the error of a call that has panicked with p, err when p is nil.
func (s *Server) recovered(p any, err error) error {
	if p == nil {
		return err
	}
	s.logger.Error("internal call panicked", "panic", p, "stack", string(debug.Stack()))
	return status.Error(codes.Internal, "panic")
}

func (*Server) ping(context.Context, *frame) (*frame, error) { return newFrame(struct{}{}, nil) }

// errNotOffered answers calls of roles that the node does not have.
func errNotOffered(what string) error {
	return fault.New(fault.Unavailable, "this node is no %s", what)
}

// appendReply is the head of the answer to Append.
type appendReply struct {
	Problem *problem `json:"problem,omitempty"`
	// Samples says that the batch is stored but for some samples.
	Samples *signal.RefusedSamples `json:"samples,omitempty"`
}

func (s *Server) append(ctx context.Context, in *frame) (*frame, error) {
	var head batchHead
	if err := in.into(&head); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	refused := func(err error) (*frame, error) {
		p := newProblem(err)
		p.Refused = true
		return newFrame(appendReply{Problem: p}, nil)
	}
	if s.services.Appender == nil {
		return refused(errNotOffered("intake"))
	}
	if err := s.services.Open(); err != nil {
		return refused(err)
	}
	b, err := head.batch(&s.codec, in.body)
	if err != nil {
		return refused(err)
	}
	defer b.Release()
	err = s.services.Appender.Write(ctx, b)
	if err != nil && s.services.Refused(err) {
		return refused(err)
	}
	if samples, ok := errors.AsType[*signal.RefusedSamples](err); ok {
		return newFrame(appendReply{Samples: samples}, nil)
	}
	return newFrame(appendReply{Problem: newProblem(err)}, nil)
}

func (s *Server) ask(in *frame, out grpc.ServerStream) error {
	var q answer.Question
	if err := in.into(&q); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if s.services.Answerer == nil {
		return sendHead(out, refusedAnswer(errNotOffered("querier")), nil)
	}
	if err := s.services.Open(); err != nil {
		return sendHead(out, refusedAnswer(err), nil)
	}
	ctx := out.Context()
	result, err := s.services.Answerer.Ask(ctx, q)
	if err != nil {
		return sendHead(out, answerHead{Problem: newProblem(err)}, nil)
	}
	defer result.Close() //nolint:errcheck // its errors were those of Next
	// An answer without rows ends with its schema alone.
	block, err := s.codec.Append(nil, result.Schema(), nil)
	if err != nil {
		return sendHead(out, answerHead{Problem: newProblem(err)}, nil)
	}
	for {
		record, err := result.Next(ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return sendHead(out, answerHead{Meta: result.Meta(), Problem: newProblem(err), End: true}, block)
		}
		block, err = s.codec.Append(nil, result.Schema(), record)
		record.Release()
		if err != nil {
			return sendHead(out, answerHead{Problem: newProblem(err)}, nil)
		}
		if err := sendHead(out, answerHead{Meta: result.Meta()}, block); err != nil {
			return err
		}
		block = nil
	}
}

// refusedAnswer says that another node is to be asked.
func refusedAnswer(err error) answerHead {
	p := newProblem(err)
	p.Refused = true
	return answerHead{Problem: p}
}

func sendHead(out grpc.ServerStream, head any, body []byte) error {
	f, err := newFrame(head, body)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return out.SendMsg(f)
}

func (s *Server) snapshot(in *frame, out grpc.ServerStream) error {
	var q fresh.Request
	if err := in.into(&q); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if s.services.Holder == nil {
		return sendHead(out, freshHead{Problem: newProblem(errNotOffered("holder of rows"))}, nil)
	}
	result, holding, err := s.services.Holder.Hold(out.Context(), q)
	if err != nil {
		return sendHead(out, freshHead{Problem: newProblem(err)}, nil)
	}
	defer result.Release()
	if err := sendHead(out, freshHead{Holding: holding, Warnings: result.Warnings}, nil); err != nil {
		return err
	}
	for _, snapshot := range result.Snapshots {
		for _, c := range snapshot.Chunks {
			block, err := s.codec.Append(nil, c.Record.Schema(), c.Record)
			if err != nil {
				return sendHead(out, freshHead{Problem: newProblem(err)}, nil)
			}
			head := freshHead{Writer: snapshot.Writer, Dataset: snapshot.Dataset, Seq: c.Seq}
			if err := sendHead(out, head, block); err != nil {
				return err
			}
		}
	}
	return sendHead(out, freshHead{End: true}, nil)
}
