package promapi

import (
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// formatQuery answers "format_query".
func (a *API) formatQuery(c *call) (*result, error) {
	expr, err := a.parser.ParseExpr(c.Form.Get("query"))
	if err != nil {
		return nil, badParam("query", err)
	}
	return &result{data: appendText(nil, expr.Pretty(0))}, nil
}

// parseQuery answers "parse_query" with the expression's tree.
func (a *API) parseQuery(c *call) (*result, error) {
	expr, err := a.parser.ParseExpr(c.Form.Get("query"))
	if err != nil {
		return nil, badParam("query", err)
	}
	return asJSON(tree(expr))
}

type object = map[string]any

// tree shows an expression in the form of Prometheus' API.
func tree(expr parser.Expr) any {
	switch n := expr.(type) {
	case nil:
		return nil
	case *parser.AggregateExpr:
		return object{
			"type": "aggregation", "op": n.Op.String(), "expr": tree(n.Expr), "param": tree(n.Param), "grouping": list(n.Grouping),
			"without": n.Without,
		}
	case *parser.BinaryExpr:
		return operation(n)
	case *parser.Call:
		args := []any{}
		for _, arg := range n.Args {
			args = append(args, tree(arg))
		}
		return object{"type": "call", "args": args, "func": object{
			"name": n.Func.Name, "argTypes": n.Func.ArgTypes, "variadic": n.Func.Variadic, "returnType": n.Func.ReturnType,
		}}
	case *parser.ParenExpr:
		return object{"type": "parenExpr", "expr": tree(n.Expr)}
	case *parser.UnaryExpr:
		return object{"type": "unaryExpr", "op": n.Op.String(), "expr": tree(n.Expr)}
	case *parser.NumberLiteral:
		return object{"type": "numberLiteral", "val": strconv.FormatFloat(n.Val, 'f', -1, 64)}
	case *parser.StringLiteral:
		return object{"type": "stringLiteral", "val": n.Val}
	case *parser.DurationExpr:
		return duration(n)
	default:
		return selectorTree(expr)
	}
}

func selectorTree(expr parser.Expr) any {
	switch n := expr.(type) {
	case *parser.VectorSelector:
		return vector("vectorSelector", n)
	case *parser.MatrixSelector:
		v, ok := n.VectorSelector.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		out := vector("matrixSelector", v)
		out["range"], out["rangeExpr"] = n.Range.Milliseconds(), duration(n.RangeExpr)
		return out
	case *parser.SubqueryExpr:
		return object{
			"type": "subquery", "expr": tree(n.Expr), "range": n.Range.Milliseconds(), "rangeExpr": duration(n.RangeExpr),
			"offset": n.OriginalOffset.Milliseconds(), "offsetExpr": duration(n.OriginalOffsetExpr), "step": n.Step.Milliseconds(),
			"stepExpr": duration(n.StepExpr), "timestamp": n.Timestamp, "startOrEnd": anchor(n.StartOrEnd),
		}
	case *parser.StepInvariantExpr:
		return tree(n.Expr)
	default:
		return nil
	}
}

func vector(kind string, n *parser.VectorSelector) object {
	return object{
		"type": kind, "name": n.Name, "offset": n.OriginalOffset.Milliseconds(), "offsetExpr": duration(n.OriginalOffsetExpr),
		"matchers": matchers(n.LabelMatchers), "timestamp": n.Timestamp, "startOrEnd": anchor(n.StartOrEnd), "anchored": n.Anchored,
		"smoothed": n.Smoothed,
	}
}

func operation(n *parser.BinaryExpr) object {
	var matching any
	if m := n.VectorMatching; m != nil {
		matching = object{
			"card": m.Card.String(), "labels": list(m.MatchingLabels), "on": m.On, "include": list(m.Include),
			"fillValues": object{"lhs": m.FillValues.LHS, "rhs": m.FillValues.RHS},
		}
	}
	return object{
		"type": "binaryExpr", "op": n.Op.String(), "lhs": tree(n.LHS), "rhs": tree(n.RHS), "matching": matching, "bool": n.ReturnBool,
	}
}

// duration shows the expression that a duration was written as, nil when it was a plain one.
func duration(expr parser.Expr) any {
	switch n := expr.(type) {
	case nil:
		return nil
	case *parser.DurationExpr:
		if n == nil {
			return nil
		}
		return object{"type": "durationExpr", "op": n.Op.String(), "lhs": duration(n.LHS), "rhs": duration(n.RHS), "wrapped": n.Wrapped}
	case *parser.NumberLiteral:
		if n == nil {
			return nil
		}
		return object{"type": "numberLiteral", "val": strconv.FormatFloat(n.Val, 'f', -1, 64), "duration": n.Duration}
	default:
		return tree(n)
	}
}

func matchers(in []*labels.Matcher) []object {
	out := make([]object, 0, len(in))
	for _, m := range in {
		out = append(out, object{"name": m.Name, "value": m.Value, "type": m.Type.String()})
	}
	return out
}

func anchor(t parser.ItemType) any {
	if t == 0 {
		return nil
	}
	return t.String()
}

func list(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}
