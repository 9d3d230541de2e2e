package app

import (
	"context"
	"fmt"
	"time"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/fairqueue"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/frontend"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/router"
	"github.com/millstream/millstream/internal/sqlplan"
	"github.com/millstream/millstream/internal/tenant"
)

// turns are the parts that let queries wait for each other.
type turns struct {
	queue    *fairqueue.Queue   // router: of clients' queries
	frontend *frontend.Frontend // router
	guard    *guard             // querier
}

// shareEvery is how often a router looks whether its share of the queriers' slots has changed.
const shareEvery = time.Second

// placeGrace is how long a querier waits for the end of a query that was given up before it calls itself busy.
const placeGrace = 250 * time.Millisecond

// makeFrontend makes what lets clients' queries wait for their turn: on a router for its share of all queriers, else for this process's.
func (n *node) makeFrontend() {
	n.queue = fairqueue.New(fairqueue.Options{
		Capacity:   n.config.Querier.Concurrency,
		Settings:   func(org tenant.ID) fairqueue.Settings { return frontend.Settings(n.limits.For(org)) },
		Registerer: n.metrics,
	})
	deps := frontend.Deps{Queue: n.queue, Limits: n.limits.For, Logger: n.component("frontend"), Registerer: n.metrics}
	if n.router != nil {
		deps.SQL, deps.Splitter, deps.PromQL, deps.PromRead = n.router, n.router, promForwarder{n}, promForwarder{n}
	} else {
		local := localQuerier{n.querier}
		deps.SQL, deps.Splitter, deps.PromQL, deps.PromRead = local, local, n.promql, n.promql
	}
	n.frontend = frontend.New(deps)
}

// share keeps the router's share of the queriers' slots up to date until ctx ends.
func (n *node) share(ctx context.Context) {
	for n.router != nil && ctx.Err() == nil {
		if v := n.members.Current(); v != nil && n.queue != nil {
			n.queue.SetCapacity(v.QueryShare())
		}
		pause(ctx, shareEvery)
	}
}

// guard is the querier of this process as routers see it: it runs as many queries at once as it has places, whoever asks, and says that
// it is busy beyond. It implements answer.Answerer, promapi.Answerer and promapi.Reader.
type guard struct {
	sql    localQuerier
	promql *promapi.API
	places chan struct{} // one for each query that runs
}

func newGuard(places int, sql localQuerier, promql *promapi.API) *guard {
	return &guard{sql: sql, promql: promql, places: make(chan struct{}, places)}
}

// enter takes a place, which leave gives back.
func (g *guard) enter(ctx context.Context) error {
	timer := time.NewTimer(placeGrace)
	defer timer.Stop()
	select {
	case g.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return fault.Wrap(fault.Unavailable, fmt.Errorf("%w: %d queries run", router.ErrBusy, cap(g.places)),
			"the querier is busy with other queries")
	}
}

func (g *guard) leave() { <-g.places }

// Ask implements answer.Answerer.
func (g *guard) Ask(ctx context.Context, q answer.Question) (answer.Result, error) {
	if !sqlplan.IsQuery(q.Statement) {
		return g.sql.Ask(ctx, q)
	}
	if err := g.enter(ctx); err != nil {
		return nil, err
	}
	running := false
	defer func() {
		if !running {
			g.leave()
		}
	}()
	result, err := g.sql.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	running = true
	return guarded{result, g}, nil
}

// Split implements answer.Splitter. It takes a place meanwhile, since bounds on the whole are judged by fresh rows too.
func (g *guard) Split(ctx context.Context, q answer.Question) (*answer.Split, error) {
	if err := g.enter(ctx); err != nil {
		return nil, err
	}
	defer g.leave()
	return g.sql.Split(ctx, q)
}

// guarded is a result that holds a place.
type guarded struct {
	answer.Result

	guard *guard
}

// Close implements answer.Result.
func (r guarded) Close() error {
	defer r.guard.leave()
	return r.Result.Close()
}

// Answer implements promapi.Answerer.
func (g *guard) Answer(ctx context.Context, q promapi.Question) promapi.Answer {
	if !promapi.ReadsSamples(q.Path) {
		return g.promql.Answer(ctx, q)
	}
	if err := g.enter(ctx); err != nil {
		return promapi.Failure(err)
	}
	defer g.leave()
	return g.promql.Answer(ctx, q)
}

// Read implements promapi.Reader.
func (g *guard) Read(ctx context.Context, q promapi.ReadRequest, send func([]byte) error) error {
	if err := g.enter(ctx); err != nil {
		return err
	}
	defer g.leave()
	return g.promql.Read(ctx, q, send)
}
