package sqlplan

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/signal"
)

// CountColumn is the column of a counted table that says how many rows each of its rows stands for. No field of a user has this name;
// a statement in which something has it is not counted.
const CountColumn = "_rows"

// Counts says that a statement needs to know of its only table nothing but how many rows there are of each combination of values of the
// table's columns (Table.Columns): it groups them, and its aggregates are counts, or do not mind how often a value occurs.
type Counts struct {
	// Time bounds the rows exactly: SQL does not look at the time of a row otherwise than Unit says.
	Time TimeRange
	// Unit, in microseconds, says that the statement uses times only after cutting them down to multiples of it. 0: it does not use them.
	Unit int64

	engine Engine
	text   func(context.Context, node) (string, error) // an expression as the engine writes it
	tree   node
	drop   []int // conjuncts of the WHERE clause that Time stands for
}

// countsDraft is what is known of a statement before it is bound.
type countsDraft struct {
	time      TimeRange
	unit      int64
	conjuncts []node // of the WHERE clause
	bounds    []int  // those that time stands for
}

// counts recognises statements that Counts describes, before they are bound. It is nil for any other.
func (b *binder) counts(root node) *countsDraft {
	if len(b.tables) != 1 || !isPlainSource(root) || root.sub("from_table").str("table_name") != generated(0) {
		return nil
	}
	d := &countsDraft{time: TimeRange{Start: MinTime, End: MaxTime}, conjuncts: conjuncts(root.sub("where_clause"))}
	times := map[uintptr]bool{} // references to the time that are understood
	for i, c := range d.conjuncts {
		if r, refs, ok := b.exactTime(c); ok {
			d.time, d.bounds = d.time.Intersect(r), append(d.bounds, i)
			for _, ref := range refs {
				times[identity(ref)] = true
			}
		}
	}
	b.orderedByTime(root, times)
	grouped := len(root.list("group_expressions")) > 0 || root.str("aggregate_handling") == "FORCE_AGGREGATES" || isDistinct(root)
	fits := true
	walk(root, func(n node) bool {
		switch n.class() {
		case "SUBQUERY", "WINDOW", "STAR", "LAMBDA":
			fits = false
		case "COLUMN_REF":
			parts := n.texts("column_names")
			fits = fits && (!lowerEqual(parts[len(parts)-1], signal.TimeColumn) || times[identity(n)])
			fits = fits && !slices.ContainsFunc(parts, func(p string) bool { return lowerEqual(p, CountColumn) }) // an alias of the user's
		case "FUNCTION":
			if inner, unit := b.cutTime(n); inner != nil {
				times[identity(inner)] = true
				d.unit = gcd(d.unit, unit)
			}
			ok, aggregate := b.countable(n)
			fits, grouped = fits && ok, grouped || aggregate
		}
		return fits
	})
	if !fits || !grouped {
		return nil
	}
	return d
}

// isPlainSource reports whether a query is a SELECT from one stream without more around it.
func isPlainSource(root node) bool {
	return root.kind() == "SELECT_NODE" && root.sub("from_table").kind() == "BASE_TABLE" && len(root.sub("cte_map").list("map")) == 0 &&
		root.sub("sample") == nil && root.sub("from_table").sub("sample") == nil && root.sub("qualify") == nil
}

// isDistinct reports whether a query shows equal rows once.
func isDistinct(root node) bool {
	return slices.ContainsFunc(root.list("modifiers"), func(e any) bool {
		m := asNode(e)
		return m.kind() == "DISTINCT_MODIFIER" && len(m.list("distinct_on_targets")) == 0
	})
}

// conjuncts returns the conditions of which a WHERE clause is the conjunction.
func conjuncts(where node) []node {
	switch {
	case where == nil:
		return nil
	case where.kind() == "CONJUNCTION_AND":
		return nodesOf(where.list("children"))
	default:
		return []node{where}
	}
}

// identity tells a node from all others of its tree.
func identity(n node) uintptr { return reflect.ValueOf(map[string]any(n)).Pointer() }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// countable reports whether a function gives the same when rows are counted first, and whether it is an aggregate.
func (b *binder) countable(n node) (ok, aggregate bool) {
	name, args := n.str("function_name"), len(n.list("children"))
	if !b.query.planner.functions.Allowed(Aggregate, name) {
		return name != "unnest" && !isVolatile(name), false
	}
	if len(n.sub("order_bys").list("orders")) > 0 {
		return false, true
	}
	switch name {
	case "count_star":
		return args == 0, true
	case "count":
		return args <= 1, true
	case "min", "max", "bool_and", "bool_or", "bit_and", "bit_or":
		return args == 1, true
	default:
		return false, true
	}
}

// isTimeRef reports whether an expression is the event time.
func isTimeRef(e node) bool {
	parts := e.texts("column_names")
	return e.class() == "COLUMN_REF" && len(parts) > 0 && lowerEqual(parts[len(parts)-1], signal.TimeColumn)
}

// orderedByTime notes references in ORDER BY that mean the only item with the alias _timestamp.
func (b *binder) orderedByTime(root node, times map[uintptr]bool) {
	named := 0
	for _, item := range nodesOf(root.list("select_list")) {
		if lowerEqual(item.str("alias"), signal.TimeColumn) {
			named++
		}
	}
	if named != 1 {
		return
	}
	for _, e := range root.list("modifiers") {
		for _, o := range nodesOf(asNode(e).list("orders")) {
			if e := o.sub("expression"); isTimeRef(e) && len(e.texts("column_names")) == 1 {
				times[identity(e)] = true
			}
		}
	}
}

// cutTime returns the event time that a call cuts down to multiples of a unit, and the unit in microseconds; nil for other calls.
func (b *binder) cutTime(n node) (inner node, unit int64) {
	children := nodesOf(n.list("children"))
	if len(children) != 2 || !isTimeRef(children[1]) {
		return nil, 0
	}
	switch n.str("function_name") {
	case "date_trunc", "datetrunc":
		typ, text, ok := constantValue(children[0])
		step := map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[text]
		if ok && typ == "VARCHAR" && step > 0 {
			return children[1], step.Microseconds()
		}
	case "time_bucket":
		if !b.isConstant(children[0]) {
			return nil, 0
		}
		v, ok := b.eval(children[0], false)
		if step := clockStep(v); ok && step > 0 {
			return children[1], step
		}
	}
	return nil, 0
}

// clockStep returns the microseconds of an interval that divides the day, so that its buckets, which are counted from a midnight, begin
// at multiples of it; 0 for others.
func clockStep(v Constant) int64 {
	const day = 24 * time.Hour
	var hours, minutes, seconds int
	if n, err := fmt.Sscanf(v.Text, "%d:%d:%d", &hours, &minutes, &seconds); v.Type != "INTERVAL" || err != nil || n != 3 ||
		fmt.Sprintf("%02d:%02d:%02d", hours, minutes, seconds) != v.Text {
		return 0
	}
	step := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second
	if step <= 0 || day%step != 0 {
		return 0
	}
	return step.Microseconds()
}

// exactTime returns the times for which a condition is true, if it compares the event time with constants that a microsecond can say.
func (b *binder) exactTime(e node) (r TimeRange, refs []node, ok bool) {
	switch {
	case e.class() == "BETWEEN" && isTimeRef(e.sub("input")):
		low, lows := b.exactMoment(e.sub("lower"))
		high, highs := b.exactMoment(e.sub("upper"))
		return TimeRange{Start: low, End: high + 1}, []node{e.sub("input")}, lows && highs
	case e.class() == "COMPARISON":
		left, right, op := e.sub("left"), e.sub("right"), e.kind()
		if !isTimeRef(left) {
			swapped := map[string]string{
				"COMPARE_LESSTHAN": "COMPARE_GREATERTHAN", "COMPARE_LESSTHANOREQUALTO": "COMPARE_GREATERTHANOREQUALTO",
				"COMPARE_GREATERTHAN": "COMPARE_LESSTHAN", "COMPARE_GREATERTHANOREQUALTO": "COMPARE_LESSTHANOREQUALTO",
			}
			left, right, op = right, left, swapped[op]
		}
		if !isTimeRef(left) {
			return r, nil, false
		}
		at, ok := b.exactMoment(right)
		r = TimeRange{Start: MinTime, End: MaxTime}
		switch op {
		case "COMPARE_LESSTHAN":
			r.End = at
		case "COMPARE_LESSTHANOREQUALTO":
			r.End = at + 1
		case "COMPARE_GREATERTHAN":
			r.Start = at + 1
		case "COMPARE_GREATERTHANOREQUALTO":
			r.Start = at
		default:
			return r, nil, false
		}
		return r, []node{left}, ok
	}
	return r, nil, false
}

// exactMoment returns the microsecond that a constant is when it is compared with the event time.
func (b *binder) exactMoment(e node) (int64, bool) {
	const far = int64(1) << 60 // infinity and what is near it is left to the engine
	if !b.isConstant(e) {
		return 0, false
	}
	plain := true
	walk(e, func(n node) bool { // types that are finer than a microsecond
		plain = plain && !strings.HasSuffix(n.sub("cast_type").str("id"), "_NS") && n.str("function_name") != "make_timestamp_ns"
		return plain
	})
	v, ok := b.eval(e, true)
	return v.Micros, plain && ok && strings.HasPrefix(v.Type, "TIMESTAMP") && v.Micros > -far && v.Micros < far
}

// finish makes the Counts of a statement that is bound, nil if binding has changed what was understood of it.
func (d *countsDraft) finish(b *binder, table *Table, root node) *Counts {
	hidden := func(c string) bool { return slices.Contains(table.Columns.Names, c) }
	if d == nil || table.Columns.All || slices.ContainsFunc(hiddenColumns(), hidden) {
		return nil
	}
	now := conjuncts(root.sub("where_clause"))
	if len(now) != len(d.conjuncts) {
		return nil
	}
	for i := range now {
		if identity(now[i]) != identity(d.conjuncts[i]) {
			return nil
		}
	}
	return &Counts{Time: d.time, Unit: d.unit, engine: b.query.planner.engine, text: b.textOf, tree: root.clone(), drop: d.bounds}
}

// SQL returns the statement for a table whose rows are those of the stream within Time, counted by their columns: each has its CountColumn.
func (c *Counts) SQL(ctx context.Context) (string, error) {
	root := c.tree.clone()
	for _, item := range nodesOf(root.list("select_list")) {
		if item.str("alias") != "" || !hasCount(item) {
			continue
		}
		name, err := c.text(ctx, item)
		if err != nil {
			return "", err
		}
		item["alias"] = name
	}
	c.dropBounds(root)
	walk(root, func(n node) bool {
		if isCount(n) {
			sumCounts(n)
			return false
		}
		return true
	})
	tree, err := encodeTree(root)
	if err != nil {
		return "", err
	}
	text, err := c.engine.DeserializeSQL(ctx, tree)
	if err != nil {
		return "", fmt.Errorf("write counting statement: %w", err)
	}
	return text, nil
}

// dropBounds takes the conditions out of the WHERE clause that Time stands for.
func (c *Counts) dropBounds(root node) {
	if len(c.drop) == 0 {
		return
	}
	var left []node
	for i, e := range conjuncts(root.sub("where_clause")) {
		if !slices.Contains(c.drop, i) {
			left = append(left, e)
		}
	}
	switch len(left) {
	case 0:
		root["where_clause"] = nil
	case 1:
		root["where_clause"] = map[string]any(left[0])
	default:
		root.sub("where_clause")["children"] = exprs(left...)
	}
}

// isCount reports whether n counts rows.
func isCount(n node) bool {
	name := n.str("function_name")
	return n.class() == "FUNCTION" && (name == "count_star" || name == "count" && !n.flag("distinct"))
}

func hasCount(e node) bool {
	found := false
	walk(e, func(n node) bool {
		found = found || isCount(n)
		return !found
	})
	return found
}

// sumCounts makes a count the sum of how many rows the counted ones stand for.
func sumCounts(n node) {
	sum := newFunction(n, "sum", newColumn(n, CountColumn))
	sum["filter"] = n["filter"]
	if args := nodesOf(n.list("children")); len(args) == 1 {
		given := newOperator(n, "OPERATOR_IS_NOT_NULL", args[0])
		if filter := n.sub("filter"); filter != nil {
			given = newConjunction(n, "CONJUNCTION_AND", filter, given)
		}
		sum["filter"] = map[string]any(given)
	}
	zero := newConstant(n, "BIGINT", 0)
	n.replace(withAlias(newCast(newOperator(n, "OPERATOR_COALESCE", sum, zero), "BIGINT", false), n))
}

func newOperator(from node, kind string, children ...node) node {
	return node{"class": "OPERATOR", "type": kind, "alias": "", "query_location": placeOf(from), "children": exprs(children...)}
}
