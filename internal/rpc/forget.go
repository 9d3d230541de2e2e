package rpc

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millstream/millstream/internal/tenant"
)

// databaseHead names a database.
type databaseHead struct {
	Org  tenant.ID `json:"org"`
	Name string    `json:"name"`
}

func (s *Server) forgetDatabase(_ context.Context, in *frame) (*frame, error) {
	var head databaseHead
	if err := in.into(&head); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if s.services.Appender != nil {
		s.services.Appender.ForgetDatabase(head.Org, head.Name)
	}
	return newFrame(struct{}{}, nil)
}

// ForgetDatabase tells the node that a database was dropped, so that it does not go on writing to it when another of the name is made.
func (p *Peer) ForgetDatabase(ctx context.Context, org tenant.ID, name string) error {
	if err := p.reach(ctx); err != nil {
		return err
	}
	in, err := newFrame(databaseHead{org, name}, nil)
	if err != nil {
		return err
	}
	if err := p.conn.Invoke(ctx, methodForget, in, new(frame)); err != nil {
		return fmt.Errorf("tell %s of a dropped database: %w", p.Address(), err)
	}
	return nil
}
