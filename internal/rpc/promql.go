package rpc

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/router"
)

// promReply is the head of an answer to a question of the Prometheus API; its body is the client's.
type promReply struct {
	Status  int      `json:"status"`
	Cause   string   `json:"cause,omitempty"`   // for the log
	Problem *problem `json:"problem,omitempty"` // the question was not begun
}

func (s *Server) answerPromQL(ctx context.Context, in *frame) (*frame, error) {
	var q promapi.Question
	if err := in.into(&q); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if s.services.PromQL == nil {
		return newFrame(promReply{Problem: newProblem(errNotOffered("querier"))}, nil)
	}
	if err := s.services.Open(); err != nil {
		return newFrame(promReply{Problem: newProblem(err)}, nil)
	}
	a := s.services.PromQL.Answer(ctx, q)
	if errors.Is(a.Err, router.ErrBusy) {
		return newFrame(promReply{Problem: newProblem(a.Err)}, nil)
	}
	reply := promReply{Status: a.Status}
	if a.Err != nil {
		reply.Cause = a.Err.Error()
	}
	return newFrame(reply, a.Body)
}

// AnswerPromQL asks the node's Prometheus API. An error that matches router.ErrUnreachable says that the node has answered nothing.
func (p *Peer) AnswerPromQL(ctx context.Context, q promapi.Question) (promapi.Answer, error) {
	if err := p.reach(ctx); err != nil {
		return promapi.Answer{}, err
	}
	in, err := newFrame(q, nil)
	if err != nil {
		return promapi.Answer{}, err
	}
	out := new(frame)
	if err := p.conn.Invoke(ctx, methodPromQL, in, out); err != nil {
		if ctx.Err() != nil {
			return promapi.Answer{}, ctx.Err()
		}
		return promapi.Answer{}, fmt.Errorf("ask %s: %w: %w", p.Address(), router.ErrUnreachable, err)
	}
	var reply promReply
	if err := out.into(&reply); err != nil {
		return promapi.Answer{}, err
	}
	if reply.Problem != nil && reply.Problem.Busy {
		return promapi.Answer{}, reply.Problem.err()
	}
	if reply.Problem != nil {
		return promapi.Answer{}, fmt.Errorf("%w: %w", router.ErrUnreachable, reply.Problem.err())
	}
	a := promapi.Answer{Status: reply.Status, Body: out.body}
	if reply.Cause != "" {
		a.Err = errors.New(reply.Cause)
	}
	return a, nil
}
