package querier

import (
	"context"
	"fmt"
	"time"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/rowfind"
	"github.com/millstream/millstream/internal/sqlplan"
	"github.com/millstream/millstream/internal/sqlplan/sqlplanduck"
	"github.com/millstream/millstream/internal/tenant"
)

// Request is one statement of one org.
type Request struct {
	Org       tenant.ID
	Orgs      []tenant.ID // when the statement reads several: all of them, sorted; else empty
	Database  string      // that unqualified names mean; empty = signal.DefaultDatabase
	Statement string
	// Start (inclusive) and End (exclusive) bound the event time of the rows that the statement sees; zero = open.
	Start, End time.Time
	Limit      int64 // most rows of the answer; 0 = all
	// Now is the time that the statement takes for the present; zero = the clock's.
	Now time.Time
	// Actor is who asks, for the audit log.
	Actor string
	// Change allows CREATE and ALTER, Admin allows DROP DATABASE (decisions E7).
	Change bool
	Admin  bool
}

// Querier answers statements.
type Querier struct {
	opts    Options
	deps    Deps
	planner *sqlplan.Planner
	metrics *metrics
	footers *rowfind.Footers // nil: no rows are looked for in front of the engine
}

// New returns a querier. It starts nothing and needs no closing.
func New(opts Options, deps Deps) (*Querier, error) {
	if err := opts.Validate(); err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "querier options: %s", err)
	}
	if opts.FirstScanRows <= 0 {
		opts.FirstScanRows = defaultFirstScanRows
	}
	q := &Querier{opts: opts, deps: deps.withDefaults(), metrics: newMetrics(deps.Registerer)}
	if !opts.NoSearch {
		q.footers = rowfind.NewFooters(0)
	}
	q.planner = sqlplanduck.NewPlanner(deps.Pool.Parser())
	return q, nil
}

// limitsOf returns the limits of the orgs that are asked.
func (q *Querier) limitsOf(req Request) limits.Limits {
	var others []limits.Limits
	for _, org := range req.Orgs {
		others = append(others, q.deps.Limits(org))
	}
	return limits.Smallest(q.deps.Limits(req.Org), others...)
}

// Query starts a statement. The caller closes the result. The work ends when ctx does, during Query and during each call of Next
// under the context of that call.
//
// Errors: fault.Invalid and fault.NotFound point into the statement; fault.Unavailable when catalog or writers cannot be asked;
// fault.Deadline when Options.Timeout passed; the context's error when it ended.
func (q *Querier) Query(ctx context.Context, req Request) (*Result, error) {
	r := q.run(req)
	ctx, cancel := r.limit(ctx)
	defer cancel()
	rows, err := r.start(ctx)
	if err != nil {
		r.release()
		err = r.explain(ctx, err)
		r.stats.Took = r.elapsed()
		q.metrics.observe(r.stats, err)
		return nil, err
	}
	return &Result{run: r, rows: rows}, nil
}

func (q *Querier) run(req Request) *run {
	r := &run{querier: q, request: req, limits: q.limitsOf(req), now: req.Now, began: time.Now()}
	if r.now.IsZero() {
		r.now = q.deps.Clock.Now()
	}
	return r
}

// start parses the statement and runs it.
func (r *run) start(ctx context.Context) (rows, error) {
	statement, err := r.querier.planner.Parse(ctx, r.request.Statement)
	if err != nil {
		return nil, fmt.Errorf("parse statement: %w", err)
	}
	if query, ok := statement.(*sqlplan.Query); ok {
		return r.query(ctx, query)
	}
	return r.command(ctx, statement)
}
