package router

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/fault"
)

// turn counts statements, so that queriers take turns.
type turn struct{ n atomic.Uint64 }

// Ask implements answer.Answerer.
func (r *Router) Ask(ctx context.Context, q answer.Question) (answer.Result, error) {
	view, err := r.deps.Members.View(ctx)
	if err != nil {
		return nil, err
	}
	queriers := view.Members[cluster.RoleQuerier]
	first := r.turn.n.Add(1)
	var causes []error
	for i := range queriers {
		n := queriers[(first+uint64(i))%uint64(len(queriers))]
		querier, err := r.deps.Nodes.Querier(n)
		if err != nil {
			causes = append(causes, err)
			continue
		}
		result, err := querier.Ask(ctx, q)
		switch {
		case err == nil:
			r.metrics.asks.WithLabelValues("answered").Inc()
			return result, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.Is(err, ErrUnreachable):
			r.metrics.asks.WithLabelValues("answered").Inc()
			return nil, err
		}
		r.metrics.asks.WithLabelValues("unreachable").Inc()
		r.deps.Logger.Warn("querier cannot be reached", "node", n.ID, "error", err)
		causes = append(causes, err)
	}
	return nil, fault.Wrap(fault.Unavailable, errors.Join(causes...), "%s", ErrNoQuerier.Message)
}
