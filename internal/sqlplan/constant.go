package sqlplan

import (
	"context"
	"strings"
	"time"
)

// maxEvaluations bounds how many expressions of one statement are evaluated while it is planned.
const maxEvaluations = 64

// clockValue returns the constant that a name of the clock means in this statement.
func (b *binder) clockValue(at node, name string) (node, bool) {
	if b.in.Now.IsZero() {
		return nil, false
	}
	now := b.in.Now.UTC()
	const micros = "2006-01-02 15:04:05.000000"
	switch strings.ToLower(name) {
	case "now", "current_timestamp", "get_current_timestamp", "transaction_timestamp":
		return newCast(newText(at, now.Format(micros)+"+00"), "TIMESTAMP WITH TIME ZONE", false), true
	case "localtimestamp", "current_localtimestamp":
		return newCast(newText(at, now.Format(micros)), "TIMESTAMP", false), true
	case "today", "current_date":
		return newCast(newText(at, now.Format(time.DateOnly)), "DATE", false), true
	}
	return nil, false
}

// isConstant reports whether an expression has the same value for every row, now and when the statement runs, and is cheap to find out.
func (b *binder) isConstant(n node) bool {
	switch n.class() {
	case "CONSTANT":
		return true
	case "CAST":
		return n.sub("cast_type").sub("type_info").kind() != "UNBOUND_TYPE_INFO" && b.isConstant(n.sub("child"))
	case "COLUMN_REF":
		parts := n.texts("column_names")
		_, ok := b.clockValue(n, parts[len(parts)-1])
		return ok && len(parts) == 1
	case "FUNCTION":
		name := n.str("function_name")
		if _, ok := b.clockValue(n, name); ok && len(n.list("children")) == 0 {
			return true
		}
		if !isTimeArithmetic(name) || n.sub("filter") != nil || n.flag("distinct") {
			return false
		}
		for _, e := range n.list("children") {
			if !b.isConstant(asNode(e)) {
				return false
			}
		}
		return true
	}
	return false
}

// isTimeArithmetic reports whether a function is one that bounds of time are made of: pure and with a small result.
func isTimeArithmetic(name string) bool {
	switch name {
	case "+", "-", "*", "/", "//", "%", "trunc", "floor", "ceil", "round", "date_trunc", "datetrunc", "time_bucket", "date_add", "last_day",
		"make_date", "make_timestamp", "make_timestamp_ms", "make_timestamp_ns", "make_timestamptz", "epoch_ms", "to_timestamp", "timezone",
		"to_years", "to_months", "to_weeks", "to_days", "to_hours", "to_minutes", "to_seconds", "to_milliseconds", "to_microseconds",
		"to_quarters":
		return true
	}
	return false
}

// evaluator returns the function that finds the value of a constant expression, as a time if asked. It is false for NULL, and for
// expressions that fail: the engine will say so when the statement runs.
func (b *binder) evaluator(ctx context.Context) func(e node, asTime bool) (Constant, bool) {
	left := maxEvaluations
	return func(e node, asTime bool) (Constant, bool) {
		if typ, text, ok := constantValue(e); ok && !asTime && typ != "DECIMAL" {
			return Constant{Type: typ, Text: text}, true
		}
		if left == 0 {
			return Constant{}, false
		}
		left--
		e = e.clone()
		walk(e, func(n node) bool {
			name := n.str("function_name")
			if n.class() == "COLUMN_REF" {
				name = n.texts("column_names")[0]
			}
			if v, ok := b.clockValue(n, name); ok && name != "" {
				n.replace(v)
			}
			n["alias"] = ""
			return true
		})
		if asTime {
			e = newCast(e, "TIMESTAMP WITH TIME ZONE", false)
		}
		tree, err := encodeTree(newSelect(newEmptyTable(), e))
		if err != nil {
			return Constant{}, false
		}
		text, err := b.query.planner.engine.DeserializeSQL(ctx, tree)
		if err != nil {
			return Constant{}, false
		}
		row, err := b.query.planner.engine.Eval(ctx, text)
		if err != nil || len(row) != 1 || row[0].Null {
			return Constant{}, false
		}
		return row[0], true
	}
}
