package promeval

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// Options say how an Engine works.
type Options struct {
	Parser   parser.Parser // the engine's. Required
	Timeout  time.Duration // of a query, the engine's. Required
	Lookback time.Duration // the engine's, unless a query has one of its own. Required
	Workers  int           // processors that a query uses; 0 = all
}

// Engine is a promql.QueryEngine. It is safe for concurrent use.
type Engine struct {
	opts   Options
	engine promql.QueryEngine
}

// New returns an engine that evaluates parts of range queries and gives the rest to another one.
func New(engine promql.QueryEngine, opts Options) *Engine {
	if opts.Workers <= 0 {
		opts.Workers = runtime.GOMAXPROCS(0)
	}
	return &Engine{opts: opts, engine: engine}
}

// NewInstantQuery implements promql.QueryEngine.
func (e *Engine) NewInstantQuery(ctx context.Context, q storage.Queryable, opts promql.QueryOpts, text string, at time.Time) (
	promql.Query, error,
) {
	return e.engine.NewInstantQuery(ctx, q, opts, text, at)
}

// NewRangeQuery implements promql.QueryEngine.
//
//nolint:revive // the interface has so many arguments
func (e *Engine) NewRangeQuery(ctx context.Context, q storage.Queryable, opts promql.QueryOpts, text string,
	start, end time.Time, step time.Duration,
) (promql.Query, error) {
	whole, err := e.engine.NewRangeQuery(ctx, q, opts, text, start, end, step)
	if err != nil || step < time.Millisecond {
		return whole, err
	}
	expr, err := e.opts.Parser.ParseExpr(text)
	if err != nil {
		return whole, nil //nolint:nilerr // the engine has read it in another way
	}
	lookback := e.opts.Lookback
	if opts != nil && opts.LookbackDelta() > 0 {
		lookback = opts.LookbackDelta()
	}
	if opts == nil {
		opts = promql.NewPrometheusQueryOpts(false, 0, nil)
	}
	stmt := &parser.EvalStmt{Expr: expr, Start: start, End: end, Interval: step, LookbackDelta: lookback}
	mint, maxt := promql.FindMinMaxTime(stmt)
	p := makePlan(text, expr, e.opts.Parser.ParseExpr)
	if p == nil {
		return whole, nil
	}
	return &query{Query: whole, engine: e, plan: p, queryable: q, opts: opts, stmt: stmt, mint: mint, maxt: maxt, lookback: lookback}, nil
}

// query is a range query with parts. It is a promql.Query.
type query struct {
	promql.Query // the whole one, until another is executed

	engine     *Engine
	plan       *plan
	queryable  storage.Queryable
	opts       promql.QueryOpts
	stmt       *parser.EvalStmt
	mint, maxt int64
	lookback   time.Duration

	mu     sync.Mutex
	cancel context.CancelFunc
}

// Exec implements promql.Query.
func (q *query) Exec(ctx context.Context) *promql.Result {
	ctx, cancel := context.WithTimeout(ctx, q.engine.opts.Timeout)
	defer cancel()
	q.mu.Lock()
	q.cancel = cancel
	q.mu.Unlock()
	querier, err := q.queryable.Querier(q.mint, q.maxt)
	if err != nil {
		return &promql.Result{Err: err}
	}
	res := q.exec(ctx, querier)
	err = querier.Close()
	if res == nil {
		return q.Query.Exec(ctx)
	}
	if res.Err == nil && err != nil {
		res.Err = err
	}
	return res
}

// Cancel implements promql.Query.
func (q *query) Cancel() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cancel != nil {
		q.cancel()
	}
	q.Query.Cancel()
}

// String implements promql.Query.
func (q *query) String() string { return q.stmt.Expr.String() }

// exec evaluates the parts and lets the engine do the rest. It returns nil when the engine has to do everything.
func (q *query) exec(ctx context.Context, querier storage.Querier) *promql.Result {
	shared := &sharedQuerier{Querier: querier, parts: make([][]storage.Series, len(q.plan.parts))}
	var notes annotations.Annotations
	for i := range q.plan.parts {
		e := evaluation{
			part: &q.plan.parts[i], workers: q.engine.opts.Workers, lookback: q.lookback,
			start: timestamp.FromTime(q.stmt.Start), end: timestamp.FromTime(q.stmt.End), step: q.stmt.Interval.Milliseconds(),
		}
		series, warnings, err := e.run(ctx, querier)
		notes = notes.Merge(warnings)
		switch {
		case errors.Is(err, errNotHere):
			return nil
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return &promql.Result{Err: promql.ErrQueryTimeout("expression evaluation"), Warnings: notes}
		case ctx.Err() != nil:
			return &promql.Result{Err: promql.ErrQueryCanceled("expression evaluation"), Warnings: notes}
		case err != nil:
			return &promql.Result{Err: fmt.Errorf("expanding series: %w", err), Warnings: notes}
		}
		shared.parts[i] = series
	}
	queryable := storage.QueryableFunc(func(int64, int64) (storage.Querier, error) { return shared, nil })
	rest, err := q.engine.engine.NewRangeQuery(ctx, queryable, q.opts, q.plan.text, q.stmt.Start, q.stmt.End, q.stmt.Interval)
	if err != nil {
		return nil
	}
	whole := q.Query
	q.Query = rest
	whole.Close()
	res := rest.Exec(ctx)
	if res.Err == nil { // beside an error the engine shows no others
		res.Warnings = res.Warnings.Merge(notes)
	}
	return res
}

// sharedQuerier gives the series of parts for their selectors and those of the storage for others. Closing it closes nothing.
type sharedQuerier struct {
	storage.Querier

	parts [][]storage.Series
}

// Select implements storage.Querier.
func (s *sharedQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) (
	found storage.SeriesSet,
) {
	if len(matchers) == 1 && matchers[0].Name == placeholder {
		if i, err := strconv.Atoi(matchers[0].Value); err == nil && i < len(s.parts) {
			return &seriesSet{series: s.parts[i], at: -1}
		}
	}
	return s.Querier.Select(ctx, sorted, hints, matchers...)
}

// Close implements storage.Querier.
func (*sharedQuerier) Close() error { return nil }

// seriesSet is a storage.SeriesSet.
type seriesSet struct {
	series []storage.Series
	at     int
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool {
	s.at++
	return s.at < len(s.series)
}

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return s.series[s.at] }

// Err implements storage.SeriesSet.
func (*seriesSet) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (*seriesSet) Warnings() annotations.Annotations { return nil }
