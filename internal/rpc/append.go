package rpc

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/router"
	"github.com/millstream/millstream/internal/signal"
)

// Append implements router.Intake. The batch has its ID and its Block.
func (p *Peer) Append(ctx context.Context, b *signal.Batch) (router.Outcome, error) {
	in, err := newFrame(newBatchHead(b), b.Block)
	if err != nil {
		return router.Refused, err
	}
	if err := p.reach(ctx); err != nil {
		return router.NotSent, err
	}
	callCtx, cancel := context.WithTimeout(ctx, p.opts.ForwardTimeout)
	defer cancel()
	out := new(frame)
	if err := p.conn.Invoke(callCtx, methodAppend, in, out); err != nil {
		return p.broken(ctx, err)
	}
	var reply appendReply
	if err := out.into(&reply); err != nil {
		return router.Unknown, err
	}
	switch {
	case reply.Samples != nil:
		return router.Stored, reply.Samples
	case reply.Problem == nil:
		return router.Stored, nil
	case reply.Problem.Refused:
		return router.Refused, reply.Problem.err()
	default:
		return router.Unknown, reply.Problem.err()
	}
}

// broken judges a call that has no answer of the node.
func (p *Peer) broken(ctx context.Context, err error) (router.Outcome, error) {
	switch status.Code(err) {
	case codes.Unauthenticated, codes.Unimplemented, codes.InvalidArgument, codes.ResourceExhausted:
		// Said before the batch was handed on: another token, another version, a message too large.
		return router.Refused, fault.Wrap(fault.Unavailable, err, "an intake node does not take this node's batches")
	case codes.DeadlineExceeded:
		if ctx.Err() == nil {
			p.suspected(true)
		}
	default:
	}
	if ctx.Err() != nil {
		return router.Unknown, errors.Join(ctx.Err(), err)
	}
	return router.Unknown, fmt.Errorf("forward a batch: %w", err)
}
