package sqlplan

import (
	"fmt"
	"strings"

	"github.com/millstream/millstream/internal/fault"
)

// bindQuery rewrites a query node and returns its columns.
func (b *binder) bindQuery(n node, parent *scope) (*output, error) {
	for _, e := range n.sub("cte_map").list("map") {
		if err := b.bindCTE(asNode(e), parent); err != nil {
			return nil, err
		}
	}
	switch n.kind() {
	case "SELECT_NODE":
		return b.bindSelect(n, parent)
	case "RECURSIVE_CTE_NODE":
		left, err := b.bindQuery(n.sub("left"), parent)
		if err != nil {
			return nil, err
		}
		b.ctes[n.str("cte_name")] = renamed(left, n.texts("aliases"))
		if _, err := b.bindQuery(n.sub("right"), parent); err != nil {
			return nil, err
		}
		return left, nil
	default:
		return b.bindSetOperation(n, parent)
	}
}

func (b *binder) bindCTE(entry node, parent *scope) error {
	value := entry.sub("value")
	out, err := b.bindQuery(value.sub("query").sub("node"), parent)
	if err != nil {
		return err
	}
	b.ctes[entry.str("key")] = renamed(out, value.texts("aliases"))
	return nil
}

// renamed gives the first columns of out other names.
func renamed(out *output, names []string) *output {
	if len(names) == 0 {
		return out
	}
	again := &output{known: out.known, columns: append([]column(nil), out.columns...)}
	if !out.known { // the columns cannot be counted
		again.columns = nil
		return again
	}
	for i := range min(len(names), len(again.columns)) {
		again.columns[i].name, again.columns[i].field = names[i], names[i]
	}
	return again
}

func (b *binder) bindSetOperation(n node, parent *scope) (*output, error) {
	left, err := b.bindQuery(n.sub("left"), parent)
	if err != nil {
		return nil, err
	}
	right, err := b.bindQuery(n.sub("right"), parent)
	if err != nil {
		return nil, err
	}
	out := &output{known: left.known && right.known, columns: append([]column(nil), left.columns...)}
	byName := strings.HasSuffix(n.str("setop_type"), "BY_NAME")
	for i, c := range right.columns {
		at := i
		if byName {
			at = indexOf(out.columns, c.name)
		}
		switch {
		case at >= 0 && at < len(out.columns):
			out.columns[at].class = mergeClass(out.columns[at].class, c.class)
		case byName:
			out.columns = append(out.columns, c)
		}
	}
	sc := &scope{parent: parent, relations: []*relation{{ref: -1, columns: out.columns, known: out.known}}}
	return out, b.bindModifiers(n, sc)
}

func indexOf(columns []column, name string) int {
	for i, c := range columns {
		if lowerEqual(c.name, name) {
			return i
		}
	}
	return -1
}

// mergeClass is the class of a column that comes from two places.
func mergeClass(a, b class) class {
	switch {
	case a == b:
		return a
	case a == classWidened || b == classWidened:
		return classWidened
	case a == classText || b == classText:
		return classText
	}
	return classUnknown
}

func (b *binder) bindSelect(n node, parent *scope) (*output, error) {
	sc := &scope{parent: parent}
	if err := b.bindTable(n.sub("from_table"), sc, true); err != nil {
		return nil, err
	}
	b.constrainSelect(n, sc)
	out, err := b.bindItems(n, sc)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"where_clause", "having", "qualify"} {
		if err := b.bindCondition(n.sub(key), sc); err != nil {
			return nil, err
		}
	}
	if _, err := b.bindList(n.list("group_expressions"), sc); err != nil {
		return nil, err
	}
	return out, b.bindModifiers(n, sc)
}

// bindItems rewrites the select list and returns what it gives.
func (b *binder) bindItems(n node, sc *scope) (*output, error) {
	out := &output{known: true}
	for _, e := range n.list("select_list") {
		item := asNode(e)
		before := item.texts("column_names")
		c, err := b.bindExpr(item, sc)
		if err != nil {
			return nil, err
		}
		switch {
		case item.class() == "STAR" && !item.flag("columns") && item.sub("expr") == nil:
			shown, known := starColumns(item, sc)
			out.columns = append(out.columns, shown...)
			out.known = out.known && known
			continue
		case item.class() == "STAR" || !namedByText(item) && item.class() != "COLUMN_REF" && item.class() != "CONSTANT":
			out.known = false // COLUMNS(…) and unnest make several columns
			continue
		}
		name := item.str("alias")
		if name == "" && len(before) > 0 {
			name = before[len(before)-1]
			if after := item.texts("column_names"); len(after) > 0 && after[len(after)-1] != name && indexDotted(before, after) < 0 {
				item["alias"] = name
			} else if len(after) > 0 {
				name = after[len(after)-1]
			}
		}
		col := column{name: name, field: name, class: c, inStar: true}
		out.columns = append(out.columns, col)
		sc.items = append(sc.items, col)
	}
	return out, nil
}

// indexDotted returns the part of before from which on the parts, joined by dots, are the last part of after; -1 if it is none.
func indexDotted(before, after []string) int {
	for i := range len(before) - 1 {
		if lowerEqual(strings.Join(before[i:], "."), after[len(after)-1]) {
			return i
		}
	}
	return -1
}

// starColumns returns what a plain * shows.
func starColumns(star node, sc *scope) (shown []column, known bool) {
	known = true
	for _, r := range sc.relations {
		if q := star.str("relation_name"); q != "" && !lowerEqual(q, r.alias) {
			continue
		}
		known = known && r.known
		for _, c := range r.columns {
			if c.inStar {
				c.name, c.inTable = c.field, false
				shown = append(shown, c)
			}
		}
	}
	for _, e := range star.list("replace_list") {
		if i := indexOf(shown, asNode(e).str("key")); i >= 0 {
			shown[i].class = classUnknown
		}
	}
	if len(star.list("rename_list")) > 0 {
		known = false
	}
	excluded := star.texts("exclude_list")
	kept := shown[:0]
	for _, c := range shown {
		if !containsFold(excluded, c.name) {
			kept = append(kept, c)
		}
	}
	return kept, known
}

func containsFold(list []string, name string) bool {
	for _, s := range list {
		if lowerEqual(s, name) {
			return true
		}
	}
	return false
}

func (b *binder) bindModifiers(n node, sc *scope) error {
	for _, e := range n.list("modifiers") {
		m := asNode(e)
		for _, key := range []string{"limit", "offset"} {
			if sub := m.sub(key); sub != nil {
				if _, err := b.bindExpr(sub, sc); err != nil {
					return err
				}
			}
		}
		if _, err := b.bindList(m.list("distinct_on_targets"), sc); err != nil {
			return err
		}
		if err := b.bindOrders(m.list("orders"), sc); err != nil {
			return err
		}
	}
	return nil
}

func (b *binder) bindOrders(list []any, sc *scope) error {
	for _, e := range list {
		x := asNode(e).sub("expression")
		if x.class() == "STAR" { // ORDER BY ALL
			continue
		}
		if _, err := b.bindExpr(x, sc); err != nil {
			return err
		}
	}
	return nil
}

// bindTable adds what a table reference names to sc. prunable says that the WHERE clause of the SELECT alone decides which of its rows
// take part.
func (b *binder) bindTable(n node, sc *scope, prunable bool) error {
	switch n.kind() {
	case "EMPTY":
		return nil
	case "BASE_TABLE":
		return b.bindBase(n, sc, prunable)
	case "JOIN":
		return b.bindJoin(n, sc, prunable)
	case "SUBQUERY":
		out, err := b.bindQuery(n.sub("subquery").sub("node"), sc)
		if err != nil {
			return err
		}
		sc.add(n, renamed(out, n.texts("column_name_alias")))
		return nil
	case "TABLE_FUNCTION":
		call := n.sub("function")
		if _, err := b.bindList(call.list("children"), sc); err != nil {
			return err
		}
		if macro, ok := b.query.planner.functions.Rewrite(TableFunction, call.str("function_name")); ok {
			call["function_name"] = macro
		}
	case "EXPRESSION_LIST":
		for _, row := range n.list("values") {
			list, _ := row.([]any)
			if _, err := b.bindList(list, sc); err != nil {
				return err
			}
		}
	case "PIVOT":
		if err := b.bindPivot(n, sc); err != nil {
			return err
		}
	case "SHOW_REF":
		if _, err := b.bindQuery(n.sub("query"), sc.parent); err != nil {
			return err
		}
	default:
		return fault.New(fault.Internal, "bind table of kind %s", n.kind())
	}
	sc.add(n, &output{})
	return nil
}

// add adds a relation that is no stream.
func (s *scope) add(n node, out *output) {
	s.relations = append(s.relations, &relation{alias: n.str("alias"), ref: -1, columns: out.columns, known: out.known, node: n})
}

func (b *binder) bindBase(n node, sc *scope, prunable bool) error {
	name := n.str("table_name")
	if out, ok := b.ctes[name]; ok {
		sc.add(n, renamed(out, n.texts("column_name_alias")))
		return nil
	}
	i := -1
	if _, err := fmt.Sscanf(name, generatedPrefix+"%d", &i); err != nil || i < 0 || i >= len(b.tables) {
		return fault.New(fault.Internal, "bind unknown table %q", name)
	}
	s := b.query.streams[i]
	r := &relation{alias: n.str("alias"), ref: i, columns: b.tables[i].columns, known: true, prunable: prunable, node: n}
	if b.query.refs[i].bare {
		r.path = []string{s.Stream.Database, s.Signal.String(), s.Name}
		for _, other := range sc.relations {
			if lowerEqual(other.alias, r.alias) && other.ref >= 0 && b.query.streams[other.ref].ID != s.ID {
				r.alias = strings.Join(r.path, ".") // two streams of one name: each is called by its full one
				n["alias"] = r.alias
			}
		}
	}
	sc.relations = append(sc.relations, r)
	return nil
}

func (b *binder) bindJoin(n node, sc *scope, prunable bool) error {
	left, right := prunable, prunable
	switch n.str("ref_type") {
	case "REGULAR", "CROSS", "NATURAL":
		switch n.str("join_type") {
		case "INNER":
		case "LEFT":
			right = false
		case "RIGHT":
			left = false
		case "SEMI", "ANTI":
			right = false
		default:
			left, right = false, false
		}
	case "ASOF": // which row of the right side is nearest depends on all of them
		left, right = left && (n.str("join_type") == "INNER" || n.str("join_type") == "LEFT"), false
	default:
		left, right = false, false
	}
	from := len(sc.relations)
	if err := b.bindTable(n.sub("left"), sc, left); err != nil {
		return err
	}
	middle := len(sc.relations)
	if err := b.bindTable(n.sub("right"), sc, right); err != nil {
		return err
	}
	if n.str("ref_type") == "NATURAL" {
		for _, r := range sc.relations[from:] {
			b.showAll(r)
		}
	}
	b.note(n.texts("using_columns")...)
	b.sameTypes(n, sc.relations[from:middle], sc.relations[middle:])
	if c := n.sub("condition"); c != nil {
		if n.str("ref_type") == "REGULAR" && n.str("join_type") == "INNER" {
			b.constrain(c, sc)
		}
		return b.bindCondition(c, sc)
	}
	return nil
}

// showAll notes that every column of a relation is needed.
func (b *binder) showAll(r *relation) {
	if r.ref >= 0 {
		b.tables[r.ref].all = true
	}
}

// sameTypes makes the columns of USING and NATURAL comparable when one is text by widening and the other is not text: the other becomes
// text, so that no stored value makes the comparison fail.
func (b *binder) sameTypes(n node, left, right []*relation) {
	names := n.texts("using_columns")
	if n.str("ref_type") == "NATURAL" {
		for _, r := range left {
			for _, c := range r.columns {
				names = append(names, c.field)
			}
		}
	}
	for _, name := range names {
		l, lc := only(left, name)
		r, rc := only(right, name)
		if lc == nil || rc == nil {
			continue
		}
		switch {
		case lc.class == classWidened && isTyped(rc.class):
			castColumn(r, rc)
		case rc.class == classWidened && isTyped(lc.class):
			castColumn(l, lc)
		}
	}
}

// isTyped reports whether a class is known and no text.
func isTyped(c class) bool {
	return c == classNumber || c == classBool || c == classTime || c == classInterval
}

// only returns the column of a name if one relation alone has it.
func only(relations []*relation, name string) (*relation, *column) {
	var hit *relation
	var col *column
	for _, r := range relations {
		if c := r.find(name); c != nil {
			if hit != nil {
				return nil, nil
			}
			hit, col = r, c
		}
	}
	return hit, col
}

// castColumn wraps a relation so that one of its columns is text.
func castColumn(r *relation, c *column) {
	inner := node{}
	inner.replace(r.node)
	inner["sample"] = nil
	star := newStar()
	star["replace_list"] = []any{map[string]any{"key": c.field, "value": map[string]any(newCast(newColumn(inner, c.field), "VARCHAR", false))}}
	r.node.replace(node{
		"type": "SUBQUERY", "alias": r.alias, "sample": r.node["sample"], "query_location": placeOf(inner), "column_name_alias": []any{},
		"subquery": map[string]any{"node": map[string]any(newSelect(inner, star)), "named_param_map": []any{}},
	})
	columns := append([]column(nil), r.columns...)
	for i := range columns {
		if columns[i].field == c.field {
			columns[i].class = classText
		}
	}
	r.columns = columns
}

// bindPivot reads the source in a scope of its own; all of its columns may become columns of the answer.
func (b *binder) bindPivot(n node, sc *scope) error {
	inner := &scope{parent: sc.parent, pivot: true}
	if err := b.bindTable(n.sub("source"), inner, false); err != nil {
		return err
	}
	for _, r := range inner.relations {
		b.showAll(r)
	}
	if _, err := b.bindList(n.list("aggregates"), inner); err != nil {
		return err
	}
	for _, e := range n.list("pivots") {
		if _, err := b.bindList(asNode(e).list("pivot_expressions"), inner); err != nil {
			return err
		}
		for _, entry := range asNode(e).list("entries") {
			if star := asNode(entry).sub("star_expr"); star != nil {
				if _, err := b.bindExpr(star, inner); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
