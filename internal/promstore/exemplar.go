package promstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/valyala/fastjson"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

// Exemplars returns what reads the exemplars of a database during one request.
func (s *Store) Exemplars(ctx context.Context, org tenant.ID, database string) storage.ExemplarQuerier {
	return &exemplarQuerier{ctx: ctx, store: s, org: org, database: database}
}

// exemplarQuerier is a storage.ExemplarQuerier.
type exemplarQuerier struct {
	ctx      context.Context //nolint:containedctx // Prometheus' interface has it so; it lives as long as one request
	store    *Store
	org      tenant.ID
	database string
}

// Select implements storage.ExemplarQuerier: the exemplars of the series that any of the matcher sets selects, in a range of
// milliseconds, both ends inclusive; series by their labels, exemplars by time, each once.
func (e *exemplarQuerier) Select(from, to int64, matchers ...[]*labels.Matcher) (_ []exemplar.QueryResult, err error) {
	q := &querier{store: e.store, org: e.org, database: e.database, mint: from, maxt: to}
	defer func() { err = errors.Join(err, q.Close()) }()
	found := make(map[string]*exemplar.QueryResult)
	var p fastjson.Parser
	for _, set := range matchers {
		err := q.scanTexts(e.ctx, newSelector(set), exemplarColumns(), func(x *series, _ seriesKey, texts []string) error {
			list, err := parseExemplars(&p, texts[0], from, to)
			if err != nil || len(list) == 0 {
				return err
			}
			key := x.lset.String()
			if found[key] == nil {
				found[key] = &exemplar.QueryResult{SeriesLabels: x.lset}
			}
			found[key].Exemplars = append(found[key].Exemplars, list...)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	out := make([]exemplar.QueryResult, 0, len(found))
	for _, r := range found {
		slices.SortFunc(r.Exemplars, exemplar.Compare)
		r.Exemplars = slices.CompactFunc(r.Exemplars, func(a, b exemplar.Exemplar) bool { return a.Equals(b) })
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b exemplar.QueryResult) int { return labels.Compare(a.SeriesLabels, b.SeriesLabels) })
	return out, nil
}

// parseExemplars reads a stored list of exemplars (docs/protocol/otlp.md) and returns those in the range.
func parseExemplars(p *fastjson.Parser, text string, from, to int64) ([]exemplar.Exemplar, error) {
	v, err := p.Parse(text)
	if err != nil {
		return nil, fault.Wrap(fault.Corrupt, err, "stored exemplars")
	}
	var out []exemplar.Exemplar
	for _, x := range v.GetArray() {
		nanos, err := strconv.ParseInt(string(x.GetStringBytes("timeUnixNano")), 10, 64)
		if err != nil {
			return nil, fault.Wrap(fault.Corrupt, err, "stored exemplars")
		}
		const nanosPerMicro = 1000
		millis := millisOf(nanos / nanosPerMicro)
		if millis < from || millis > to {
			continue
		}
		e := exemplar.Exemplar{Ts: millis, HasTs: true, Labels: exemplarLabels(x)}
		if e.Value, err = exemplarValue(x); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// exemplarLabels returns the attributes, with the ids of a trace under the names that Prometheus' world has for them.
func exemplarLabels(x *fastjson.Value) labels.Labels {
	b := labels.NewScratchBuilder(4)
	have := make(map[string]bool)
	x.GetObject("filteredAttributes").Visit(func(key []byte, v *fastjson.Value) {
		text := string(v.GetStringBytes())
		if v.Type() != fastjson.TypeString {
			text = v.String()
		}
		have[string(key)] = true
		b.Add(string(key), text)
	})
	for _, id := range [][2]string{{"traceId", "trace_id"}, {"spanId", "span_id"}} {
		if text := x.GetStringBytes(id[0]); len(text) > 0 && !have[id[1]] {
			b.Add(id[1], string(text))
		}
	}
	b.Sort()
	return b.Labels()
}

func exemplarValue(x *fastjson.Value) (float64, error) {
	v := x.Get("asDouble")
	if v == nil {
		v = x.Get("asInt")
	}
	if v == nil {
		return 0, nil
	}
	text := v.String()
	if v.Type() == fastjson.TypeString {
		text = string(v.GetStringBytes())
	}
	if text == "NaN" {
		return math.Float64frombits(value.NormalNaN), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fault.Wrap(fault.Corrupt, err, "%s", fmt.Sprintf("stored exemplar's value %.32q", text))
	}
	return f, nil
}
