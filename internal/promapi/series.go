package promapi

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// texts and notes are what a querier answers questions about labels with.
type (
	texts = []string
	notes = annotations.Annotations
)

func errTruncated() error { return errors.New("results truncated due to limit") }

// series answers "series".
func (a *API) series(ctx context.Context, c *call) (_ *result, err error) {
	if len(c.Form["match[]"]) == 0 {
		return nil, &apiError{kind: badData, err: errors.New("no match[] parameter provided")}
	}
	s, err := a.selection(c)
	if err != nil {
		return nil, err
	}
	q, err := a.queryable(c).Querier(s.from, s.to)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	hints := &storage.SelectHints{Start: s.from, End: s.to, Func: "series", Limit: hintLimit(s.limit)}
	sets := make([]storage.SeriesSet, len(s.sets))
	for i, matchers := range s.sets {
		sets[i] = q.Select(ctx, true, hints, matchers...)
	}
	merged := storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
	out := &result{data: []byte{'['}}
	for n := 0; merged.Next(); n++ {
		if s.limit > 0 && n == s.limit {
			out.warnings = out.warnings.Add(errTruncated())
			break
		}
		if n > 0 {
			out.data = append(out.data, ',')
		}
		out.data = appendLabels(out.data, merged.At().Labels())
	}
	out.data = append(out.data, ']')
	out.warnings = out.warnings.Merge(merged.Warnings())
	return out, merged.Err()
}

// labelNames answers "labels".
func (a *API) labelNames(ctx context.Context, c *call) (*result, error) {
	return a.labelTexts(ctx, c, func(q storage.Querier, hints *storage.LabelHints, set []*labels.Matcher) (texts, notes, error) {
		return q.LabelNames(ctx, hints, set...)
	})
}

// labelValues answers "label/{name}/values".
func (a *API) labelValues(ctx context.Context, c *call, name string) (*result, error) {
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(name) {
		return nil, &apiError{kind: badData, err: errors.New("invalid label name: " + quote(name))}
	}
	return a.labelTexts(ctx, c, func(q storage.Querier, hints *storage.LabelHints, set []*labels.Matcher) (texts, notes, error) {
		return q.LabelValues(ctx, name, hints, set...)
	})
}

// labelTexts answers with the sorted texts of all matcher sets, of the whole database when there is none.
func (a *API) labelTexts(_ context.Context, c *call,
	of func(storage.Querier, *storage.LabelHints, []*labels.Matcher) (texts, notes, error),
) (_ *result, err error) {
	s, err := a.selection(c)
	if err != nil {
		return nil, err
	}
	q, err := a.queryable(c).Querier(s.from, s.to)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	if len(s.sets) == 0 {
		s.sets = [][]*labels.Matcher{nil}
	}
	out := &result{}
	var all []string
	for _, set := range s.sets {
		found, warnings, err := of(q, &storage.LabelHints{Limit: hintLimit(s.limit)}, set)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		out.warnings = out.warnings.Merge(warnings)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if s.limit > 0 && len(all) > s.limit {
		all = all[:s.limit]
		out.warnings = out.warnings.Add(errTruncated())
	}
	out.data = appendTexts(nil, all)
	return out, nil
}
