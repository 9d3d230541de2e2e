package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/router"
)

var readStream = grpc.StreamDesc{StreamName: "ReadPrometheus", ServerStreams: true}

// readHead is the head of a part of an answer to a remote read; the body is the part.
type readHead struct {
	Problem *problem `json:"problem,omitempty"`
	End     bool     `json:"end,omitempty"`
}

func (s *Server) readPrometheus(in *frame, out grpc.ServerStream) error {
	var q promapi.ReadRequest
	if err := in.into(&q); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	q.Body = in.body
	refused := func(err error) error {
		p := newProblem(err)
		p.Refused = true
		return sendHead(out, readHead{Problem: p}, nil)
	}
	if s.services.PromRead == nil {
		return refused(errNotOffered("querier"))
	}
	if err := s.services.Open(); err != nil {
		return refused(err)
	}
	err := s.services.PromRead.Read(out.Context(), q, func(part []byte) error { return sendHead(out, readHead{}, part) })
	if err != nil {
		return sendHead(out, readHead{Problem: newProblem(err)}, nil)
	}
	return sendHead(out, readHead{End: true}, nil)
}

// ReadPrometheus implements promapi.Reader. An error that matches router.ErrUnreachable says that the node has answered nothing.
func (p *Peer) ReadPrometheus(ctx context.Context, q promapi.ReadRequest, send func([]byte) error) error {
	if err := p.reach(ctx); err != nil {
		return err
	}
	body := q.Body
	q.Body = nil
	in, err := newFrame(q, body)
	if err != nil {
		return err
	}
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.open(callCtx, &readStream, methodRead, in)
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		f := new(frame)
		if err := stream.RecvMsg(f); err != nil {
			return p.readBroken(ctx, err, first)
		}
		var head readHead
		if err := f.into(&head); err != nil {
			return err
		}
		switch {
		case head.Problem != nil && head.Problem.Refused && first:
			return fmt.Errorf("%w: %w", router.ErrUnreachable, head.Problem.err())
		case head.Problem != nil:
			return head.Problem.err()
		case head.End:
			return nil
		}
		if err := send(f.body); err != nil {
			return err
		}
	}
}

// readBroken judges a stream that ended without saying so.
func (p *Peer) readBroken(ctx context.Context, err error, first bool) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case first && !errors.Is(err, io.EOF):
		return fmt.Errorf("ask %s: %w: %w", p.Address(), router.ErrUnreachable, err)
	default:
		return fault.Wrap(fault.Unavailable, err, "the node that answered is gone; the answer is incomplete")
	}
}
