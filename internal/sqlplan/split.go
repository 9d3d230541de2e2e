package sqlplan

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/millstream/millstream/internal/answer"
)

// maxSplitRows is the most rows of a statement for rows that is split: they are collected before the first is answered.
const maxSplitRows = 10_000

// Split returns how the query can be answered from parts of its time, nil when it cannot or when this is not certain. plan is what Bind
// made of the query with that limit (0 = none). The times of the Split are left zero.
//
// Two kinds of queries can: the first rows of one stream in the order of time, and counts, sums, least and greatest values and
// averages of one stream in groups whose keys are all shown. Everything else is answered as a whole.
func (q *Query) Split(ctx context.Context, plan *Plan, limit int64) (*answer.Split, error) {
	if len(plan.Tables) != 1 {
		return nil, nil //nolint:nilnil // documented
	}
	tree, err := q.planner.engine.SerializeSQL(ctx, q.text)
	if err != nil {
		return nil, fmt.Errorf("parse statement again: %w", err)
	}
	root, err := decodeTree(tree)
	if err != nil {
		return nil, err
	}
	if !isPlainSelect(root) {
		return nil, nil //nolint:nilnil // documented
	}
	if top := plan.Tables[0].TopN; top != nil {
		return q.splitRows(ctx, root, top, limit)
	}
	s := &splitter{functions: q.planner.functions, root: root, items: nodesOf(root.list("select_list"))}
	if !s.groups(limit) {
		return nil, nil //nolint:nilnil // documented
	}
	text, err := q.planner.write(ctx, s.part())
	if err != nil {
		return nil, err
	}
	return &answer.Split{Statement: text, Groups: &s.out}, nil
}

// isPlainSelect reports whether a query reads one stream, once, row by row or in groups.
func isPlainSelect(root node) bool {
	if root.kind() != "SELECT_NODE" || root.sub("from_table").kind() != "BASE_TABLE" || len(root.sub("cte_map").list("map")) > 0 ||
		root.sub("sample") != nil || root.sub("from_table").sub("sample") != nil || root.sub("qualify") != nil {
		return false
	}
	plain := true
	walk(root, func(n node) bool {
		plain = plain && n.class() != "SUBQUERY" && n.class() != "WINDOW"
		return plain
	})
	return plain
}

// splitRows splits a query for the first rows. Rows that are left out first may be in any of the parts, so every part gives them too.
func (q *Query) splitRows(ctx context.Context, root node, top *TopN, limit int64) (*answer.Split, error) {
	rows := top.Rows - top.Offset
	if limit > 0 {
		rows = min(rows, limit)
	}
	if rows+top.Offset > maxSplitRows {
		return nil, nil //nolint:nilnil // documented
	}
	out := &answer.Split{Statement: q.text, Rows: &answer.SplitRows{Limit: rows, Offset: top.Offset, Descending: top.Descending}}
	if top.Offset == 0 {
		return out, nil
	}
	for _, e := range root.list("modifiers") {
		if m := asNode(e); m.kind() == "LIMIT_MODIFIER" {
			m["limit"] = map[string]any(newConstant(m.sub("limit"), "BIGINT", json.Number(strconv.FormatInt(rows+top.Offset, 10))))
			m["offset"] = nil
		}
	}
	var err error
	out.Statement, err = q.planner.write(ctx, root)
	return out, err
}

// write writes the statement of a part.
func (p *Planner) write(ctx context.Context, root node) (string, error) {
	tree, err := encodeTree(root)
	if err != nil {
		return "", err
	}
	text, err := p.engine.DeserializeSQL(ctx, tree)
	if err != nil {
		return "", fmt.Errorf("write the statement of a part: %w", err)
	}
	return text, nil
}

// splitter takes a query in groups apart.
type splitter struct {
	functions Functions
	root      node
	items     []node // of the select list, as the user wrote them
	further   []node // what parts give beyond
	out       answer.SplitGroups
}

// groups fills in how parts are put together. It is false for what cannot be.
func (s *splitter) groups(limit int64) bool {
	aggregates := 0
	for _, item := range s.items {
		column, ok := s.aggregate(item)
		if ok {
			aggregates++
		} else if column.Merge = answer.MergeKey; !s.isRowValue(item) {
			return false
		}
		s.out.Columns = append(s.out.Columns, column)
	}
	return aggregates > 0 && s.keysAreGroups() && s.having() && s.modifiers(limit)
}

// aggregate returns how an item that is an aggregate of the kind that can be put together is.
func (s *splitter) aggregate(item node) (c answer.SplitColumn, ok bool) {
	if item.class() != "FUNCTION" || item.flag("distinct") || len(item.sub("order_bys").list("orders")) > 0 ||
		item.str("schema") != "" || item.str("catalog") != "" {
		return c, false
	}
	args := nodesOf(item.list("children"))
	for _, x := range append(slices.Clone(args), item.sub("filter")) {
		if x != nil && !s.isRowValue(x) {
			return c, false
		}
	}
	switch name := item.str("function_name"); {
	case name == "count_star" && len(args) == 0, name == "count" && len(args) <= 1, name == "sum" && len(args) == 1:
		c.Merge = answer.MergeSum
	case name == "min" && len(args) == 1:
		c.Merge = answer.MergeMin
	case name == "max" && len(args) == 1:
		c.Merge = answer.MergeMax
	case name == "avg" && len(args) == 1:
		c.Merge = answer.MergeAvg
		// Of a column that has become text avg takes the numbers alone, as a product does.
		product := newFunction(args[0], "*", args[0].clone(), newConstant(args[0], "INTEGER", json.Number("1")))
		product["is_operator"] = true
		c.Sum, c.Count = s.also(item, "sum", args[0]), s.also(item, "count", product)
	default:
		return c, false
	}
	return c, true
}

// also makes parts give another aggregate under the conditions of an item, and returns the number of its column.
func (s *splitter) also(item node, name string, arg node) int {
	x := item.clone()
	x["function_name"], x["children"] = name, exprs(arg.clone())
	return s.hide(x, answer.SplitColumn{Merge: answer.MergeSum})
}

// hide makes parts give a further column, and returns its number.
func (s *splitter) hide(x node, c answer.SplitColumn) int {
	n := len(s.items) + len(s.further)
	x["alias"] = "part column " + strconv.Itoa(n)
	s.further, s.out.Hidden = append(s.further, x), append(s.out.Hidden, c)
	return n
}

// columnOf returns the column that shows an expression or, for an aggregate that none shows, a further one; -1 for others.
func (s *splitter) columnOf(e node) int {
	same := func(x node) bool { return sameExpression(x, e) }
	if i := slices.IndexFunc(s.items, same); i >= 0 {
		return i
	}
	if i := slices.IndexFunc(s.further, same); i >= 0 {
		return len(s.items) + i
	}
	if c, ok := s.aggregate(e); ok {
		return s.hide(e.clone(), c)
	}
	return -1
}

// isRowValue reports whether an expression is computed from one row alone.
func (s *splitter) isRowValue(e node) bool {
	ok := true
	walk(e, func(n node) bool {
		switch n.class() {
		case "STAR", "LAMBDA":
			ok = false
		case "FUNCTION":
			name := n.str("function_name")
			ok = ok && name != "unnest" && !s.functions.Allowed(Aggregate, name) && !isVolatile(name)
		}
		return ok
	})
	return ok
}

// isVolatile reports whether a function gives another value each time.
func isVolatile(name string) bool {
	switch name {
	case "random", "uuid", "gen_random_uuid", "uuidv4", "uuidv7", "setseed", "nextval":
		return true
	}
	return false
}

// keysAreGroups reports whether the items that are no aggregates are the groups: each of them one, and none that is not shown.
func (s *splitter) keysAreGroups() bool {
	if s.root.str("aggregate_handling") == "FORCE_AGGREGATES" {
		return len(s.root.list("group_expressions")) == 0
	}
	groups := nodesOf(s.root.list("group_expressions"))
	sets := s.root.list("group_sets")
	if len(sets) > 1 {
		return false
	}
	if len(sets) == 1 {
		if set, ok := sets[0].([]any); !ok || len(set) != len(groups) {
			return false
		}
	}
	isGroup := make([]bool, len(s.items))
	for _, g := range groups {
		i := s.groupItem(g, groups)
		if i < 0 {
			return false
		}
		isGroup[i] = true
	}
	for i, c := range s.out.Columns {
		if c.Merge == answer.MergeKey && !isGroup[i] {
			return false
		}
	}
	return true
}

// groupItem returns the item that shows a group, -1 for none or when it is not certain which one is meant.
func (s *splitter) groupItem(g node, groups []node) int {
	i := s.position(g)
	if i < 0 {
		i = slices.IndexFunc(s.items, func(item node) bool { return sameExpression(item, g) })
	}
	if i < 0 {
		i = s.aliased(g)
		if i >= 0 && !s.meansAlias(i, groups) {
			return -1
		}
	}
	if i >= 0 && s.out.Columns[i].Merge != answer.MergeKey {
		return -1
	}
	return i
}

// position returns the item that a whole number means, -1 for other expressions.
func (s *splitter) position(e node) int {
	typ, text, ok := constantValue(e)
	if !ok || typeClass(typ) != classNumber {
		return -1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > len(s.items) {
		return -1
	}
	return n - 1
}

// aliased returns the only item whose alias an expression is.
func (s *splitter) aliased(e node) int {
	parts := e.texts("column_names")
	if e.class() != "COLUMN_REF" || len(parts) != 1 {
		return -1
	}
	found := -1
	for i, item := range s.items {
		if item.str("alias") == "" || !lowerEqual(item.str("alias"), parts[0]) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// meansAlias reports whether a group that has the alias of an item can mean nothing else. The engine prefers a column of that name; then
// the item's own columns would have to be groups.
func (s *splitter) meansAlias(i int, groups []node) bool {
	columns, means := 0, true
	walk(s.items[i], func(n node) bool {
		if n.class() == "COLUMN_REF" {
			columns++
			parts := n.texts("column_names")
			if lowerEqual(parts[len(parts)-1], s.items[i].str("alias")) {
				means = false
			}
			for _, g := range groups {
				means = means && !sameExpression(g, n) && s.position(g) < 0
			}
		}
		return means
	})
	return means && columns > 0
}

// sameExpression reports whether two expressions are the same but for their aliases.
func sameExpression(a, b node) bool {
	a, b = a.clone(), b.clone()
	a["alias"], b["alias"] = "", ""
	return sameTree(map[string]any(a), map[string]any(b))
}

// modifiers reads order and limit. It is false for others.
func (s *splitter) modifiers(limit int64) bool {
	s.out.Limit = -1
	for _, e := range s.root.list("modifiers") {
		m := asNode(e)
		switch m.kind() {
		case "ORDER_MODIFIER":
			for _, o := range m.list("orders") {
				if !s.order(asNode(o)) {
					return false
				}
			}
		case "LIMIT_MODIFIER":
			rows, ok := smallNumber(m.sub("limit"))
			skipped, skips := smallNumber(m.sub("offset"))
			if !ok || !skips {
				return false
			}
			if s.out.Offset = skipped; m.sub("limit") != nil {
				s.out.Limit = rows
			}
		default:
			return false
		}
	}
	if limit > 0 && (s.out.Limit < 0 || limit < s.out.Limit) {
		s.out.Limit = limit
	}
	return true
}

// order reads one expression of ORDER BY.
func (s *splitter) order(o node) bool {
	e := o.sub("expression")
	i := s.position(e)
	if i < 0 {
		i = s.aliased(e)
	}
	if i < 0 {
		i = s.columnOf(e)
	}
	if i < 0 || e.class() == "STAR" {
		return false
	}
	out := answer.SplitOrder{Column: i}
	switch o.kind() {
	case "ORDER_DEFAULT", "ASCENDING":
	case "DESCENDING":
		out.Descending = true
	default:
		return false
	}
	switch o.str("null_order") {
	case "ORDER_DEFAULT", "NULLS LAST", "NULLS_LAST": // last is the engine's default in both directions
	case "NULLS FIRST", "NULLS_FIRST":
		out.NullsFirst = true
	default:
		return false
	}
	s.out.Order = append(s.out.Order, out)
	return true
}

// part is the query of a part: the same groups, without conditions on them, order and limit.
func (s *splitter) part() node {
	s.root["modifiers"], s.root["having"] = []any{}, nil
	s.root["select_list"] = exprs(append(slices.Clone(s.items), s.further...)...)
	return s.root
}
