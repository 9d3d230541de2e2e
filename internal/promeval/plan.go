package promeval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"
)

// placeholder is the label whose value is the number of the part that a selector stands for.
const placeholder = "__part__"

// part is an aggregation over a function of a range, or over the series themselves.
type part struct {
	op       parser.ItemType
	grouping []string // sorted
	without  bool
	call     *parser.Call           // nil: the series themselves
	matrix   *parser.MatrixSelector // the call's
	selector *parser.VectorSelector
}

// plan is a query and its parts.
type plan struct {
	text  string // with a selector in the place of each part
	parts []part
}

// makePlan finds the parts of a query; it is nil when there are none.
func makePlan(text string, expr parser.Expr, reparse func(string) (parser.Expr, error)) *plan {
	if strings.Contains(text, placeholder) {
		return nil
	}
	p := &plan{}
	out := []byte(text)
	p.find(expr, func(node *parser.AggregateExpr, found part) {
		at := node.PositionRange()
		selector := fmt.Sprintf("{%s=%q}", placeholder, strconv.Itoa(len(p.parts)))
		start, end := int(at.Start), int(at.End)
		if start < 0 || end > len(out) || end-start < len(selector) {
			return
		}
		copy(out[start:end], selector+strings.Repeat(" ", end-start-len(selector)))
		p.parts = append(p.parts, found)
	})
	if len(p.parts) == 0 {
		return nil
	}
	p.text = string(out)
	if _, err := reparse(p.text); err != nil {
		return nil
	}
	return p
}

// find calls take with the parts below a node that nothing above treats otherwise than any other vector.
func (p *plan) find(node parser.Node, take func(*parser.AggregateExpr, part)) {
	switch n := node.(type) {
	case *parser.AggregateExpr:
		if found, ok := partOf(n); ok {
			take(n, found)
			return
		}
		p.find(n.Expr, take)
	case *parser.BinaryExpr:
		p.find(n.LHS, take)
		p.find(n.RHS, take)
	case *parser.ParenExpr:
		p.find(n.Expr, take)
	case *parser.UnaryExpr:
		p.find(n.Expr, take)
	case *parser.Call:
		if slices.Contains(plainCalls(), n.Func.Name) {
			for _, arg := range n.Args {
				p.find(arg, take)
			}
		}
	}
}

// plainCalls are functions that look at values and labels alone, not at how their argument is written.
func plainCalls() []string {
	return []string{
		"abs", "ceil", "clamp", "clamp_max", "clamp_min", "exp", "floor", "histogram_quantile", "label_join", "label_replace", "ln", "log10",
		"log2", "round", "scalar", "sgn", "sqrt",
	}
}

// rangeCalls are the functions of ranges that are taken.
func rangeCalls() []string {
	return []string{
		"avg_over_time", "count_over_time", "increase", "max_over_time", "min_over_time", "rate", "sum_over_time",
	}
}

// partOf reads an aggregation that is a part.
func partOf(n *parser.AggregateExpr) (part, bool) {
	p := part{op: n.Op, grouping: slices.Clone(n.Grouping), without: n.Without}
	if n.Param != nil || !slices.Contains([]parser.ItemType{parser.SUM, parser.AVG, parser.COUNT, parser.MIN, parser.MAX}, n.Op) {
		return p, false
	}
	if slices.ContainsFunc(p.grouping, schema.IsMetadataLabel) {
		return p, false // whether functions keep them is the engine's setting
	}
	slices.Sort(p.grouping)
	if s, ok := unwrapped(n.Expr).(*parser.VectorSelector); ok {
		p.selector = s
		ok := p.plain()
		return p, ok
	}
	call, ok := unwrapped(n.Expr).(*parser.Call)
	if !ok || len(call.Args) != 1 || !slices.Contains(rangeCalls(), call.Func.Name) {
		return p, false
	}
	if p.matrix, ok = unwrapped(call.Args[0]).(*parser.MatrixSelector); !ok || p.matrix.RangeExpr != nil {
		return p, false
	}
	if p.selector, ok = p.matrix.VectorSelector.(*parser.VectorSelector); !ok {
		return p, false
	}
	p.call = call
	p.call.Args = parser.Expressions{p.matrix}
	ok = p.plain()
	return p, ok
}

// plain reports whether the selector has no modifier but an offset, which it sets as the engine does.
func (p *part) plain() bool {
	s := p.selector
	s.Offset = s.OriginalOffset
	return s.Timestamp == nil && s.StartOrEnd == 0 && s.OriginalOffsetExpr == nil && !s.Anchored && !s.Smoothed && ofOneName(s)
}

// ofOneName reports whether a selector selects series of one name: without it they stay apart.
func ofOneName(s *parser.VectorSelector) bool {
	return slices.ContainsFunc(s.LabelMatchers, func(m *labels.Matcher) bool {
		return m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual && m.Value != ""
	})
}

func unwrapped(e parser.Expr) parser.Expr {
	for {
		p, ok := e.(*parser.ParenExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}
