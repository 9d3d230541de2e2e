package promapi

import (
	"context"
	"errors"
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// A question of several orgs is asked of each, and tenantLabel tells whose a series is. Matchers of that label choose the orgs. A stored
// label of that name is shown as originalLabel, as Loki does.
const (
	tenantLabel   = signal.TenantColumn
	originalLabel = "original_" + tenantLabel
)

// queryable returns the metrics of the orgs of a call.
func (a *API) queryable(c *call) storage.Queryable {
	if len(c.Orgs) < 2 {
		return a.deps.Metrics.Queryable(c.Org, c.Database)
	}
	return storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) {
		u := &union{orgs: c.Orgs}
		for _, org := range c.Orgs {
			q, err := a.deps.Metrics.Queryable(org, c.Database).Querier(mint, maxt)
			if err != nil {
				return nil, errors.Join(err, u.Close())
			}
			u.parts = append(u.parts, q)
		}
		return u, nil
	})
}

// limitsOf returns the limits of the orgs of a call.
func (a *API) limitsOf(c *call) limits.Limits {
	var others []limits.Limits
	for _, org := range c.Orgs {
		others = append(others, a.deps.Limits(org))
	}
	return limits.Smallest(a.deps.Limits(c.Org), others...)
}

// metadataOf returns what the senders of all orgs said of metrics, each of it once.
func (a *API) metadataOf(ctx context.Context, c *call) (map[string][]metadata.Metadata, error) {
	out := map[string][]metadata.Metadata{}
	for _, org := range c.Members() {
		found, err := a.deps.Metrics.Metadata(ctx, org, c.Database, c.Form.Get("metric"))
		if err != nil {
			return nil, err
		}
		for name, list := range found {
			for _, m := range list {
				if !slices.Contains(out[name], m) {
					out[name] = append(out[name], m)
				}
			}
		}
	}
	return out, nil
}

// exemplarsOf returns the exemplars of all orgs.
func (a *API) exemplarsOf(ctx context.Context, c *call, start, end int64, selectors ...[]*labels.Matcher) ([]exemplar.QueryResult, error) {
	if len(c.Orgs) < 2 {
		return a.deps.Metrics.Exemplars(ctx, c.Org, c.Database).Select(start, end, selectors...)
	}
	var out []exemplar.QueryResult
	for _, org := range c.Orgs {
		var of [][]*labels.Matcher
		for _, s := range selectors {
			if rest, ok := asked(org, s); ok {
				of = append(of, rest)
			}
		}
		if len(of) == 0 {
			continue
		}
		found, err := a.deps.Metrics.Exemplars(ctx, org, c.Database).Select(start, end, of...)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			r.SeriesLabels = marked(org, r.SeriesLabels)
			out = append(out, r)
		}
	}
	return out, nil
}

// asked reports whether matchers mean an org, and returns those that its store is asked with.
func asked(org tenant.ID, matchers []*labels.Matcher) (rest []*labels.Matcher, ok bool) {
	for _, m := range matchers {
		switch m.Name {
		case tenantLabel:
			if !m.Matches(string(org)) {
				return nil, false
			}
		case originalLabel:
			stored := *m // a regular expression stays compiled
			stored.Name = tenantLabel
			rest = append(rest, &stored)
		default:
			rest = append(rest, m)
		}
	}
	return rest, true
}

// marked returns labels with the org among them.
func marked(org tenant.ID, l labels.Labels) labels.Labels {
	b := labels.NewBuilder(l)
	if stored := l.Get(tenantLabel); stored != "" {
		b.Set(originalLabel, stored)
	}
	return b.Set(tenantLabel, string(org)).Labels()
}

// union is a storage.Querier over those of several orgs.
type union struct {
	orgs  []tenant.ID
	parts []storage.Querier // by orgs
}

// Select implements storage.Querier.
func (u *union) Select(ctx context.Context, _ bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	out := &markedSet{at: -1}
	for i, org := range u.orgs {
		rest, ok := asked(org, matchers)
		if !ok {
			continue
		}
		set := u.parts[i].Select(ctx, true, hints, rest...)
		for set.Next() {
			out.series = append(out.series, markedSeries{set.At(), marked(org, set.At().Labels())})
		}
		out.warnings.Merge(set.Warnings())
		if err := set.Err(); err != nil {
			return storage.ErrSeriesSet(err)
		}
	}
	slices.SortFunc(out.series, func(a, b markedSeries) int { return labels.Compare(a.labels, b.labels) })
	if hints != nil && hints.Limit > 0 && len(out.series) > hints.Limit {
		out.series = out.series[:hints.Limit]
	}
	return out
}

// LabelValues implements storage.LabelQuerier.
func (u *union) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher) (
	[]string, annotations.Annotations, error,
) {
	if name == tenantLabel {
		return u.tenants(ctx, matchers)
	}
	if name == originalLabel {
		name = tenantLabel
	}
	return u.texts(hints, matchers, func(q storage.Querier, rest []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelValues(ctx, name, hints, rest...)
	})
}

// tenants returns the orgs that have series that match.
func (u *union) tenants(ctx context.Context, matchers []*labels.Matcher) (out []string, notes annotations.Annotations, err error) {
	for i, org := range u.orgs {
		rest, ok := asked(org, matchers)
		if !ok {
			continue
		}
		if len(rest) > 0 {
			names, warnings, err := u.parts[i].LabelNames(ctx, &storage.LabelHints{Limit: 1}, rest...)
			if err != nil {
				return nil, nil, err
			}
			notes = notes.Merge(warnings)
			if len(names) == 0 {
				continue
			}
		}
		out = append(out, string(org))
	}
	return out, notes, nil
}

// LabelNames implements storage.LabelQuerier.
func (u *union) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) (
	[]string, annotations.Annotations, error,
) {
	var own bool
	out, notes, err := u.texts(nil, matchers, func(q storage.Querier, rest []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelNames(ctx, hints, rest...)
	})
	if i, found := slices.BinarySearch(out, tenantLabel); found {
		out, own = slices.Delete(out, i, i+1), true
	}
	if len(out) > 0 {
		out = append(out, tenantLabel)
	}
	if own {
		out = append(out, originalLabel)
	}
	slices.Sort(out)
	return bounded(out, hints), notes, err
}

// texts returns the sorted texts of all orgs that are asked, each once.
func (u *union) texts(hints *storage.LabelHints, matchers []*labels.Matcher,
	of func(storage.Querier, []*labels.Matcher) ([]string, annotations.Annotations, error),
) (out []string, notes annotations.Annotations, err error) {
	for i, org := range u.orgs {
		rest, ok := asked(org, matchers)
		if !ok {
			continue
		}
		found, warnings, err := of(u.parts[i], rest)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, found...)
		notes = notes.Merge(warnings)
	}
	slices.Sort(out)
	return bounded(slices.Compact(out), hints), notes, nil
}

func bounded(texts []string, hints *storage.LabelHints) []string {
	if hints != nil && hints.Limit > 0 && len(texts) > hints.Limit {
		return texts[:hints.Limit]
	}
	return texts
}

// Close implements storage.LabelQuerier.
func (u *union) Close() error {
	var errs []error
	for _, q := range u.parts {
		errs = append(errs, q.Close())
	}
	return errors.Join(errs...)
}

// markedSeries is a series that tells its org.
type markedSeries struct {
	storage.Series
	labels labels.Labels
}

// Labels implements storage.Labels.
func (s markedSeries) Labels() labels.Labels { return s.labels }

// markedSet is a storage.SeriesSet.
type markedSet struct {
	series   []markedSeries
	at       int
	warnings annotations.Annotations
}

// Next implements storage.SeriesSet.
func (s *markedSet) Next() bool {
	s.at++
	return s.at < len(s.series)
}

// At implements storage.SeriesSet.
func (s *markedSet) At() storage.Series { return s.series[s.at] }

// Err implements storage.SeriesSet.
func (s *markedSet) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (s *markedSet) Warnings() annotations.Annotations { return s.warnings }
