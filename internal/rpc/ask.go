package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/router"
	"github.com/millstream/millstream/internal/wire/arrowipc"
)

var askStream = grpc.StreamDesc{StreamName: "Ask", ServerStreams: true}

// Ask implements answer.Answerer. An error that matches router.ErrUnreachable says that the node has answered nothing.
func (p *Peer) Ask(ctx context.Context, q answer.Question) (answer.Result, error) {
	if err := p.reach(ctx); err != nil {
		return nil, err
	}
	in, err := newFrame(q, nil)
	if err != nil {
		return nil, err
	}
	callCtx, cancel := context.WithCancel(ctx)
	stream, err := p.open(callCtx, &askStream, methodAsk, in)
	if err != nil {
		cancel()
		return nil, err
	}
	r := &remoteResult{stream: stream, cancel: cancel, codec: p.codec}
	if err := r.first(ctx); err != nil {
		cancel()
		return nil, err
	}
	return r, nil
}

// open starts a call that streams its answer.
func (p *Peer) open(ctx context.Context, desc *grpc.StreamDesc, method string, in *frame) (grpc.ClientStream, error) {
	stream, err := p.conn.NewStream(ctx, desc, method)
	if err == nil {
		if err = stream.SendMsg(in); err == nil {
			err = stream.CloseSend()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w: %w", p.Address(), router.ErrUnreachable, err)
	}
	return stream, nil
}

// remoteResult is an answer that another node computes.
type remoteResult struct {
	stream grpc.ClientStream
	cancel context.CancelFunc
	codec  *arrowipc.Codec
	schema *arrow.Schema

	next arrow.RecordBatch // read ahead by first
	end  error             // what Next returns once next is taken

	mu   sync.Mutex
	meta answer.Meta
}

// first reads the beginning of the answer, so that an error of the statement is one of Ask.
func (r *remoteResult) first(ctx context.Context) error {
	head, schema, record, err := r.receive()
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if status.Code(err) == codes.Canceled || status.Code(err) == codes.DeadlineExceeded {
			return err
		}
		return fmt.Errorf("%w: %w", router.ErrUnreachable, err)
	}
	if head.Problem != nil && head.Problem.Refused {
		return fmt.Errorf("%w: %w", router.ErrUnreachable, head.Problem.err())
	}
	if head.Problem != nil && schema == nil {
		return head.Problem.err()
	}
	r.schema, r.next = schema, record
	if head.End {
		r.end = endOf(head)
	}
	return nil
}

// receive reads one part of the answer. The caller owns the record.
func (r *remoteResult) receive() (head answerHead, schema *arrow.Schema, record arrow.RecordBatch, err error) {
	f := new(frame)
	if err := r.stream.RecvMsg(f); err != nil {
		return head, nil, nil, err
	}
	if err := f.into(&head); err != nil {
		return head, nil, nil, err
	}
	r.mu.Lock()
	r.meta = head.Meta
	r.mu.Unlock()
	if len(f.body) == 0 {
		return head, nil, nil, nil
	}
	schema, record, err = r.codec.Decode(f.body)
	return head, schema, record, err
}

func endOf(h answerHead) error {
	if h.Problem != nil {
		return h.Problem.err()
	}
	return io.EOF
}

// Schema implements answer.Source.
func (r *remoteResult) Schema() *arrow.Schema { return r.schema }

// Next implements answer.Source.
func (r *remoteResult) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if record := r.next; record != nil {
		r.next = nil
		return record, nil
	}
	if r.end != nil {
		return nil, r.end
	}
	stop := context.AfterFunc(ctx, r.cancel)
	defer stop()
	head, _, record, err := r.receive()
	switch {
	case err != nil && ctx.Err() != nil:
		r.end = ctx.Err()
	case err != nil:
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		r.end = fault.Wrap(fault.Unavailable, err, "the node that answered is gone; the answer is incomplete")
	case head.End || head.Problem != nil:
		r.end = endOf(head)
	}
	if record != nil {
		return record, nil
	}
	if r.end == nil {
		r.end = fault.New(fault.Internal, "the answer of another node has a part without rows")
	}
	return nil, r.end
}

// Meta implements answer.Result.
func (r *remoteResult) Meta() answer.Meta {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.meta
}

// Close implements answer.Result: it ends the work on the other node.
func (r *remoteResult) Close() error {
	r.cancel()
	if r.next != nil {
		r.next.Release()
		r.next = nil
	}
	return nil
}
