package promapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/millstream/millstream/internal/limits"
)

// maxPoints is how many steps a range query may have, as in Prometheus.
const maxPoints = 11000

// instant answers "query".
func (a *API) instant(ctx context.Context, c *call) (*result, error) {
	at, err := c.time("time", c.now)
	if err != nil {
		return nil, err
	}
	return a.run(ctx, c, func(ctx context.Context, opts promql.QueryOpts) (promql.Query, error) {
		return a.engine.NewInstantQuery(ctx, a.queryable(c), opts, c.Form.Get("query"), at)
	})
}

// rangeQuery answers "query_range".
func (a *API) rangeQuery(ctx context.Context, c *call) (*result, error) {
	start, err := c.required("start")
	if err != nil {
		return nil, err
	}
	end, err := c.required("end")
	if err != nil {
		return nil, err
	}
	if end.Before(start) {
		return nil, badParam("end", errors.New("end timestamp must not be before start time"))
	}
	step, err := parseDuration(c.Form.Get("step"))
	if err == nil && step <= 0 {
		err = errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer")
	}
	if err != nil {
		return nil, badParam("step", err)
	}
	if end.Sub(start)/step > maxPoints {
		return nil, &apiError{kind: badData, err: errors.New(
			"exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)")}
	}
	if most := a.deps.Limits(c.Org).MaxQueryLength; most > 0 && end.Sub(start) > most {
		return nil, &apiError{kind: badData, err: fmt.Errorf("the query time range of %s exceeds the limit of %s (limits.%s)",
			end.Sub(start), limits.ShowDuration(most), limits.MaxQueryLength)}
	}
	return a.run(ctx, c, func(ctx context.Context, opts promql.QueryOpts) (promql.Query, error) {
		engine := a.engine
		if c.Form.Get("stats") != "" {
			engine = a.plain // which counts what it loads
		}
		return engine.NewRangeQuery(ctx, a.queryable(c), opts, c.Form.Get("query"), start, end, step)
	})
}

// run makes a query and executes it within its limits.
func (a *API) run(ctx context.Context, c *call, build func(context.Context, promql.QueryOpts) (promql.Query, error)) (*result, error) {
	limit, err := c.limit()
	if err != nil {
		return nil, err
	}
	ctx, stop := withTimeout(ctx, a.limitsOf(c))
	defer stop()
	ctx, cancel, err := c.deadline(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	opts, err := c.queryOpts()
	if err != nil {
		return nil, err
	}
	release, err := a.deps.Acquire(ctx, c.Org)
	if err != nil {
		return nil, err
	}
	defer release()
	query, err := build(ctx, opts)
	if err != nil {
		return nil, badParam("query", err)
	}
	defer query.Close()
	res := query.Exec(ctx)
	if res.Err != nil {
		return nil, explain(ctx, res.Err)
	}
	warnings := res.Warnings
	if truncate(res, limit) {
		warnings = warnings.Add(errors.New("results truncated due to limit"))
	}
	// The value's memory goes back to the engine with the query, so the answer is written before.
	return &result{data: appendQuery(nil, res.Value, c.queryStats(query)), warnings: warnings}, nil
}

// withTimeout applies the org's time limit; the engine's holds beside it.
func withTimeout(ctx context.Context, of limits.Limits) (context.Context, context.CancelFunc) {
	if of.QueryTimeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, of.QueryTimeout, &apiError{kind: timedOut, err: fmt.Errorf(
		"query timed out after %s, the time limit of the org (limits.%s)", limits.ShowDuration(of.QueryTimeout), limits.QueryTimeout)})
}

// explain puts the org's time limit in the place of the engine's error when it was the one that passed.
func explain(ctx context.Context, err error) error {
	var byTime promql.ErrQueryTimeout
	var own *apiError
	if errors.As(err, &byTime) && errors.As(context.Cause(ctx), &own) {
		return own
	}
	return err
}

// deadline applies the call's own time limit; the engine's holds beside it.
func (c *call) deadline(ctx context.Context) (context.Context, context.CancelFunc, error) {
	text := c.Form.Get("timeout")
	if text == "" {
		return ctx, func() {}, nil
	}
	timeout, err := parseDuration(text)
	if err == nil && timeout <= 0 {
		err = fmt.Errorf("timeout must be positive, got %s", timeout)
	}
	if err != nil {
		return nil, nil, badParam("timeout", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	return ctx, cancel, nil
}

func (c *call) queryOpts() (promql.QueryOpts, error) {
	var lookback time.Duration
	if text := c.Form.Get("lookback_delta"); text != "" {
		var err error
		if lookback, err = parseDuration(text); err != nil {
			return nil, &apiError{kind: badData, err: fmt.Errorf("error parsing lookback delta duration: %w", err)}
		}
	}
	return promql.NewPrometheusQueryOpts(c.Form.Get("stats") == "all", lookback, nil), nil
}

// queryStats returns the statistics that the call asks for, nil for none.
func (c *call) queryStats(q promql.Query) stats.QueryStats {
	if c.Form.Get("stats") == "" {
		return nil
	}
	return stats.NewQueryStats(q.Stats())
}

// truncate cuts a result to a number of series and reports whether it had more.
func truncate(res *promql.Result, limit int) bool {
	if limit <= 0 {
		return false
	}
	switch v := res.Value.(type) {
	case promql.Matrix:
		if len(v) > limit {
			res.Value = v[:limit]
			return true
		}
	case promql.Vector:
		if len(v) > limit {
			res.Value = v[:limit]
			return true
		}
	}
	return false
}

// result is the data of an answer in JSON.
type result struct {
	data     []byte
	warnings annotations.Annotations
}
