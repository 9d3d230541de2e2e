package rpc

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/router"
)

// splitReply is the head of the answer to Split.
type splitReply struct {
	Split   *answer.Split `json:"split,omitempty"`
	Problem *problem      `json:"problem,omitempty"`
}

func (s *Server) split(ctx context.Context, in *frame) (*frame, error) {
	var q answer.Question
	if err := in.into(&q); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	splitter, ok := s.services.Answerer.(answer.Splitter)
	if !ok {
		return newFrame(splitReply{Problem: newProblem(errNotOffered("querier"))}, nil)
	}
	split, err := splitter.Split(ctx, q)
	return newFrame(splitReply{Split: split, Problem: newProblem(err)}, nil)
}

// Split implements answer.Splitter. A node of an older version splits nothing. An error that matches router.ErrUnreachable says that the
// node has answered nothing.
func (p *Peer) Split(ctx context.Context, q answer.Question) (*answer.Split, error) {
	if err := p.reach(ctx); err != nil {
		return nil, err
	}
	in, err := newFrame(q, nil)
	if err != nil {
		return nil, err
	}
	out := new(frame)
	if err := p.conn.Invoke(ctx, methodSplit, in, out); err != nil {
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case status.Code(err) == codes.Unimplemented:
			return nil, nil //nolint:nilnil // as documented in answer.Splitter
		}
		return nil, fmt.Errorf("ask %s: %w: %w", p.Address(), router.ErrUnreachable, err)
	}
	var reply splitReply
	if err := out.into(&reply); err != nil {
		return nil, err
	}
	return reply.Split, reply.Problem.err()
}
