package router

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/fault"
)

// turn counts statements, so that queriers take turns.
type turn struct{ n atomic.Uint64 }

// Ask implements answer.Answerer.
func (r *Router) Ask(ctx context.Context, q answer.Question) (result answer.Result, err error) {
	err = r.InTurn(ctx, func(n cluster.Node) error {
		querier, err := r.deps.Nodes.Querier(n)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		result, err = querier.Ask(ctx, q)
		return err
	})
	return result, err
}

// InTurn calls ask for the querier whose turn it is, and for the others while the error is ErrUnreachable or ErrBusy. It returns the first
// other outcome; ErrBusy when one of them was busy and none took it; else that no querier is available.
func (r *Router) InTurn(ctx context.Context, ask func(n cluster.Node) error) error {
	view, err := r.deps.Members.View(ctx)
	if err != nil {
		return err
	}
	queriers := view.Members[cluster.RoleQuerier]
	first := r.turn.n.Add(1)
	var causes []error
	var busy error
	for i := range queriers {
		n := queriers[(first+uint64(i))%uint64(len(queriers))]
		err := ask(n)
		switch {
		case ctx.Err() != nil && err != nil:
			return ctx.Err()
		case errors.Is(err, ErrBusy):
			r.metrics.asks.WithLabelValues("busy").Inc()
			busy = err
			continue
		case !errors.Is(err, ErrUnreachable):
			r.metrics.asks.WithLabelValues("answered").Inc()
			return err
		}
		r.metrics.asks.WithLabelValues("unreachable").Inc()
		r.deps.Logger.Warn("querier cannot be reached", "node", n.ID, "error", err)
		causes = append(causes, err)
	}
	if busy != nil {
		return busy
	}
	return fault.Wrap(fault.Unavailable, errors.Join(causes...), "%s", ErrNoQuerier.Message)
}

// Split implements answer.Splitter: it asks the querier whose turn it is.
func (r *Router) Split(ctx context.Context, q answer.Question) (split *answer.Split, err error) {
	err = r.InTurn(ctx, func(n cluster.Node) error {
		querier, err := r.deps.Nodes.Querier(n)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		if s, ok := querier.(answer.Splitter); ok {
			split, err = s.Split(ctx, q)
		}
		return err
	})
	return split, err
}
