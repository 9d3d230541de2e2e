package promapi

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql/parser"
)

// metadata answers "metadata".
func (a *API) metadata(ctx context.Context, c *call) (*result, error) {
	limit, err := c.number("limit")
	if err != nil {
		return nil, err
	}
	perMetric, err := c.number("limit_per_metric")
	if err != nil {
		return nil, err
	}
	found, err := a.metadataOf(ctx, c)
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(found))
	if limit >= 0 && len(names) > limit {
		names = names[:limit]
	}
	data := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(appendText(data, name), ':', '[')
		list := found[name]
		if perMetric > 0 && len(list) > perMetric {
			list = list[:perMetric]
		}
		for j, m := range list {
			data = append(data, opening(j, `{"type":`)...)
			if j > 0 {
				data = append(data, `{"type":`...)
			}
			data = append(appendText(data, string(m.Type)), `,"help":`...)
			data = append(appendText(data, m.Help), `,"unit":`...)
			data = append(appendText(data, m.Unit), '}')
		}
		data = append(data, ']')
	}
	return &result{data: append(data, '}')}, nil
}

// number reads a whole number, -1 when it is absent.
func (c *call) number(name string) (int, error) {
	text := c.Form.Get(name)
	if text == "" {
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, &apiError{kind: badData, err: errors.New(name + " must be a number")}
	}
	return n, nil
}

// exemplars answers "query_exemplars".
func (a *API) exemplars(ctx context.Context, c *call) (*result, error) {
	start, err := c.time("start", minTime)
	if err != nil {
		return nil, err
	}
	end, err := c.time("end", maxTime)
	if err != nil {
		return nil, err
	}
	if end.Before(start) {
		return nil, &apiError{kind: badData, err: errors.New("end timestamp must not be before start timestamp")}
	}
	expr, err := a.parser.ParseExpr(c.Form.Get("query"))
	if err != nil {
		return nil, &apiError{kind: badData, err: err}
	}
	selectors := parser.ExtractSelectors(expr)
	if len(selectors) == 0 {
		return nil, nil //nolint:nilnil // Prometheus answers 204
	}
	found, err := a.exemplarsOf(ctx, c, timestamp.FromTime(start), timestamp.FromTime(end), selectors...)
	if err != nil {
		return nil, err
	}
	data := []byte{'['}
	for i, r := range found {
		if i > 0 {
			data = append(data, ',')
		}
		data = appendLabels(append(data, `{"seriesLabels":`...), r.SeriesLabels)
		data = append(data, `,"exemplars":[`...)
		for j := range r.Exemplars {
			if j > 0 {
				data = append(data, ',')
			}
			data = appendExemplar(data, &r.Exemplars[j])
		}
		data = append(data, ']', '}')
	}
	return &result{data: append(data, ']')}, nil
}

func appendExemplar(dst []byte, e *exemplar.Exemplar) []byte {
	dst = appendLabels(append(dst, `{"labels":`...), e.Labels)
	dst = appendFloat(append(dst, `,"value":`...), e.Value)
	return append(appendTime(append(dst, `,"timestamp":`...), e.Ts), '}')
}
