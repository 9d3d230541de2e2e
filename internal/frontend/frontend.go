package frontend

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/fairqueue"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/router"
	"github.com/millstream/millstream/internal/sqlplan"
	"github.com/millstream/millstream/internal/tenant"
)

// Deps are the collaborators. Those up to PromRead are required.
type Deps struct {
	Queue  *fairqueue.Queue
	SQL    answer.Answerer  // an error that matches router.ErrBusy says that nothing was begun
	PromQL promapi.Answerer // likewise
	// PromRead answers remote reads; likewise. An error after the first piece was sent is final.
	PromRead promapi.Reader

	Splitter   answer.Splitter               // nil: SQL is not split
	Limits     func(tenant.ID) limits.Limits // nil: nothing is split
	Logger     *slog.Logger                  // nil: discard
	Registerer prometheus.Registerer         // nil: metrics are kept unregistered
}

// Frontend answers questions in their turn. It implements answer.Answerer, promapi.Answerer and promapi.Reader and is safe for concurrent
// use.
type Frontend struct {
	deps    Deps
	metrics *metrics
}

// New returns a frontend. It starts nothing.
func New(deps Deps) *Frontend {
	if deps.Limits == nil {
		deps.Limits = limits.Static(limits.Default())
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	return &Frontend{deps: deps, metrics: newMetrics(deps.Registerer)}
}

// Settings returns the rules of the queue for an org that has these limits.
func Settings(l limits.Limits) fairqueue.Settings {
	return fairqueue.Settings{
		Weight: float64(l.QueryWeight), MaxRunning: l.MaxConcurrentQueries, MaxWaiting: l.MaxOutstandingQueries,
	}
}

// asker is who asks, as the queue wants it.
func asker(orgs []tenant.ID, actor string, path []string) fairqueue.Ask {
	return fairqueue.Ask{Orgs: orgs, Actor: slices.Concat([]string{actor}, path)}
}

// Ask implements answer.Answerer. Errors are those of Deps.SQL and of fairqueue.Queue.Acquire.
func (f *Frontend) Ask(ctx context.Context, q answer.Question) (answer.Result, error) {
	if !sqlplan.IsQuery(q.Statement) {
		return f.deps.SQL.Ask(ctx, q)
	}
	ask := asker(q.Members(), q.Actor, q.ActorPath)
	slot, err := f.deps.Queue.Acquire(ctx, ask)
	if err != nil {
		return nil, err
	}
	planned := false
	defer func() {
		if !planned {
			slot.Release()
		}
	}()
	p := f.parts(ctx, ask, q) // in the slot, since whoever splits may look at fresh rows to judge the whole
	planned = true
	if p == nil {
		return f.runIn(ctx, slot, q)
	}
	if result, done, err := p.ask(ctx, slot); done {
		return result, err
	}
	return f.run(ctx, ask, q)
}

// run waits for a slot and answers a question in it.
func (f *Frontend) run(ctx context.Context, ask fairqueue.Ask, q answer.Question) (answer.Result, error) {
	slot, err := f.deps.Queue.Acquire(ctx, ask)
	if err != nil {
		return nil, err
	}
	return f.runIn(ctx, slot, q)
}

// runIn answers a question in a slot, which the result holds until it is closed. After an error the slot is released.
func (f *Frontend) runIn(ctx context.Context, slot *fairqueue.Slot, q answer.Question) (answer.Result, error) {
	running := false
	defer func() {
		if !running {
			slot.Release()
		}
	}()
	for {
		result, err := f.deps.SQL.Ask(ctx, q)
		switch {
		case errors.Is(err, router.ErrBusy):
			if err := slot.Requeue(ctx); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		default:
			running = true
			return &turn{Result: result, slot: slot}, nil
		}
	}
}

// turn is a result that holds a slot.
type turn struct {
	answer.Result

	slot *fairqueue.Slot
}

// Meta implements answer.Result.
func (t *turn) Meta() answer.Meta {
	m := t.Result.Meta()
	m.Stats.QueueMS = float64(t.slot.Waited().Microseconds()) / 1000
	return m
}

// Close implements answer.Result.
func (t *turn) Close() error {
	defer t.slot.Release()
	return t.Result.Close()
}

// Answer implements promapi.Answerer.
func (f *Frontend) Answer(ctx context.Context, q promapi.Question) promapi.Answer {
	if !promapi.ReadsSamples(q.Path) {
		return f.deps.PromQL.Answer(ctx, q)
	}
	ask := asker(q.Members(), q.Actor, q.ActorPath)
	if a, done := f.answerInParts(ctx, ask, q); done {
		return a
	}
	return f.evaluate(ctx, ask, q)
}

// evaluate answers a question in a slot.
func (f *Frontend) evaluate(ctx context.Context, ask fairqueue.Ask, q promapi.Question) promapi.Answer {
	slot, err := f.deps.Queue.Acquire(ctx, ask)
	if err != nil {
		return promapi.Failure(err)
	}
	defer slot.Release()
	for {
		a := f.deps.PromQL.Answer(ctx, q)
		if !errors.Is(a.Err, router.ErrBusy) {
			return a
		}
		if err := slot.Requeue(ctx); err != nil {
			return promapi.Failure(err)
		}
	}
}

// Read implements promapi.Reader.
func (f *Frontend) Read(ctx context.Context, q promapi.ReadRequest, send func([]byte) error) error {
	slot, err := f.deps.Queue.Acquire(ctx, asker([]tenant.ID{q.Org}, q.Actor, nil))
	if err != nil {
		return err
	}
	defer slot.Release()
	for {
		err := f.deps.PromRead.Read(ctx, q, send)
		if !errors.Is(err, router.ErrBusy) {
			return err
		}
		if err := slot.Requeue(ctx); err != nil {
			return err
		}
	}
}
