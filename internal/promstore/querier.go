package promstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/tenant"
)

// querier answers one query. It is a storage.Querier.
type querier struct {
	store      *Store
	org        tenant.ID
	database   string
	mint, maxt int64 // milliseconds, inclusive

	picture  *picture // nil before the first use
	limits   limits.Limits
	warnings annotations.Annotations
	loaded   int64 // samples so far
	bytes    int64 // of files so far
}

func tooManySamples(limit int64) error {
	return fmt.Errorf("%w (the limit is %d, limits.%s)", promql.ErrTooManySamples("query execution"), limit, limits.MaxFetchedSamples)
}

// prepare takes the picture at the first use.
func (q *querier) prepare(ctx context.Context) error {
	if q.picture != nil {
		return nil
	}
	p, err := q.takePicture(ctx)
	if err != nil {
		return err
	}
	q.picture, q.limits = p, q.store.deps.Limits(q.org)
	return nil
}

// Select implements storage.Querier.
func (q *querier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	if err := q.prepare(ctx); err != nil {
		return storage.ErrSeriesSet(err)
	}
	c, err := q.collect(ctx, q.of(hints, matchers))
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	found, err := c.settled()
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	if sorted {
		slices.SortFunc(found, byLabels)
	}
	if hints != nil && hints.Limit > 0 && len(found) > hints.Limit {
		found = found[:hints.Limit]
	}
	q.store.metrics.series.Add(float64(len(found)))
	return &seriesSet{series: found, at: -1, warnings: q.warnings}
}

// selection is what one Select asks for.
type selection struct {
	*selector
	batch    batch
	from, to int64 // milliseconds, both ends inclusive
	samples  bool  // false: only which series there are
}

// of returns what hints and matchers ask for.
func (q *querier) of(hints *storage.SelectHints, matchers []*labels.Matcher) selection {
	s := selection{selector: newSelector(matchers), from: q.mint, to: q.maxt, samples: true}
	if hints != nil {
		s.from, s.to, s.samples = max(s.from, hints.Start), min(s.to, hints.End), hints.Func != "series"
	}
	return s
}

// collect gathers what a Select asks for.
func (q *querier) collect(ctx context.Context, s selection) (*collector, error) {
	c := newCollector(s.withOrigins(q.picture.names), q.picture.horizon, s.from, s.to)
	c.batch, c.samples, c.limits, c.loaded = s.batch, s.samples, q.limits, &q.loaded
	before := q.loaded
	err := c.run(ctx, q, q.picture.segments)
	q.store.metrics.samples.Add(float64(q.loaded - before))
	return c, err
}

// LabelValues implements storage.LabelQuerier.
func (q *querier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher) (
	[]string, annotations.Annotations, error,
) {
	return q.distinct(ctx, hints, matchers, valuesOf(name), seriesValues(name))
}

// LabelNames implements storage.LabelQuerier.
func (q *querier) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) (
	[]string, annotations.Annotations, error,
) {
	return q.distinct(ctx, hints, matchers, namesOf, seriesNames)
}

// distinct returns sorted texts of the series that match, of all without matchers.
func (q *querier) distinct(ctx context.Context, hints *storage.LabelHints, matchers []*labels.Matcher,
	ofTable func(*columnar.LabelTable, func(string)), ofSeries func(*series, func(string)),
) ([]string, annotations.Annotations, error) {
	if err := q.prepare(ctx); err != nil {
		return nil, nil, err
	}
	var found map[string]struct{}
	if len(matchers) == 0 {
		var err error
		if found, err = q.allTexts(ctx, ofTable, ofSeries); err != nil {
			return nil, nil, err
		}
	} else {
		of := q.of(nil, matchers)
		of.samples = false
		c, err := q.collect(ctx, of)
		if err != nil {
			return nil, nil, err
		}
		found = make(map[string]struct{})
		for _, s := range c.order {
			ofSeries(s, func(text string) { found[text] = struct{}{} })
		}
	}
	out := slices.Sorted(maps.Keys(found))
	if hints != nil && hints.Limit > 0 && len(out) > hints.Limit {
		out = out[:hints.Limit]
	}
	return out, q.warnings, nil
}

// Close implements storage.LabelQuerier.
func (q *querier) Close() error {
	if q.picture != nil {
		q.picture.release()
		q.picture = nil
	}
	return nil
}

// seriesSet is a storage.SeriesSet.
type seriesSet struct {
	series   []*series
	at       int
	warnings annotations.Annotations
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool {
	s.at++
	return s.at < len(s.series)
}

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return s.series[s.at] }

// Err implements storage.SeriesSet.
func (s *seriesSet) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (s *seriesSet) Warnings() annotations.Annotations { return s.warnings }
