package promeval

import (
	"math"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/kahansum"
)

// groups are the series of an aggregation under way.
type groups struct {
	*evaluation

	byKey map[string]*group
	order []*group
	key   []byte
}

// group is one series of the aggregation.
type group struct {
	lset   labels.Labels
	points []point // one a step
}

// point is the state of an aggregation at one step.
type point struct {
	value, rest float64 // of a sum, with what rounding has lost
	count       float64 // members so far
}

func newGroups(e *evaluation) *groups { return &groups{evaluation: e, byKey: make(map[string]*group)} }

// add adds the series of a block, in their order.
func (g *groups) add(b *block) error {
	steps := g.steps()
	for i, s := range b.series {
		to := g.of(withoutName(s.Labels()))
		values, present := b.values[i*steps:(i+1)*steps], b.present[i*steps:(i+1)*steps]
		for step, ok := range present {
			if !ok {
				continue
			}
			if err := to.points[step].add(g.op, values[step]); err != nil {
				return err
			}
		}
	}
	return nil
}

// of returns the group of a series.
func (g *groups) of(l labels.Labels) *group {
	if g.without {
		g.key = l.BytesWithoutLabels(g.key[:0], g.grouping...)
	} else {
		g.key = l.BytesWithLabels(g.key[:0], g.grouping...)
	}
	if found, ok := g.byKey[string(g.key)]; ok {
		return found
	}
	b := labels.NewBuilder(l)
	if g.without {
		b.Del(g.grouping...)
	} else {
		b.Keep(g.grouping...)
	}
	made := &group{lset: b.Labels(), points: make([]point, g.steps())}
	g.byKey[string(g.key)] = made
	g.order = append(g.order, made)
	return made
}

// add adds a value as the engine does.
func (p *point) add(op parser.ItemType, v float64) error {
	p.count++
	if p.count == 1 {
		p.value, p.rest = v, 0
		return nil
	}
	switch op {
	case parser.SUM:
		p.value, p.rest = kahansum.Inc(v, p.value, p.rest)
	case parser.AVG:
		p.value, p.rest = kahansum.Inc(v, p.value, p.rest)
		if math.IsInf(p.value, 0) {
			return errNotHere // the engine goes on with a running mean
		}
	case parser.MAX:
		if p.value < v || math.IsNaN(p.value) {
			p.value = v
		}
	case parser.MIN:
		if p.value > v || math.IsNaN(p.value) {
			p.value = v
		}
	}
	return nil
}

// result returns the value at the end.
func (p *point) result(op parser.ItemType) float64 {
	switch op {
	case parser.SUM:
		return p.value + p.rest
	case parser.AVG:
		return p.value/p.count + p.rest/p.count
	case parser.COUNT:
		return p.count
	default:
		return p.value
	}
}

// series returns the aggregation's series, each with a value or a staleness marker at every step. A group that has none is left out.
func (g *groups) series() []storage.Series {
	var out []storage.Series
	for _, x := range g.order {
		s := &result{lset: x.lset, start: g.start, step: g.step, values: make([]float64, len(x.points))}
		found := false
		for i := range x.points {
			if x.points[i].count == 0 {
				s.values[i] = math.Float64frombits(value.StaleNaN)
				continue
			}
			s.values[i], found = x.points[i].result(g.op), true
		}
		if found {
			out = append(out, s)
		}
	}
	return out
}
