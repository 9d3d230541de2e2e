package sqlplan

import (
	"strconv"

	"github.com/millstream/millstream/internal/signal"
)

// topN recognises SELECT … FROM stream [WHERE …] ORDER BY _timestamp [DESC] LIMIT n, whose answer needs the first n rows only. It is nil
// for any other statement.
func (b *binder) topN(root node) *TopN {
	if !b.isRowByRow(root) {
		return nil
	}
	out := &TopN{Filtered: root.sub("where_clause") != nil, Rows: b.in.Limit}
	ordered := false
	for _, e := range root.list("modifiers") {
		m := asNode(e)
		switch m.kind() {
		case "ORDER_MODIFIER":
			if ordered = byTime(m.list("orders")); ordered {
				out.Descending = asNode(m.list("orders")[0]).kind() == "DESCENDING"
			}
		case "LIMIT_MODIFIER":
			rows, ok := smallNumber(m.sub("limit"))
			skipped, skips := smallNumber(m.sub("offset"))
			if !ok || !skips || m.sub("limit") == nil { // all rows but the first ones are no first rows
				return nil
			}
			out.Rows, out.Offset = rows+skipped, skipped
		default:
			return nil
		}
	}
	if !ordered || out.Rows <= 0 {
		return nil
	}
	return out
}

// isRowByRow reports whether a query answers one row for each row of one stream that passes its WHERE clause.
func (b *binder) isRowByRow(root node) bool {
	from := root.sub("from_table")
	switch {
	case root.kind() != "SELECT_NODE", from.kind() != "BASE_TABLE", len(b.tables) != 1, from.str("table_name") != generated(0),
		root.sub("sample") != nil, from.sub("sample") != nil,
		len(root.list("group_expressions")) > 0, root.str("aggregate_handling") != "STANDARD_HANDLING",
		root.sub("having") != nil, root.sub("qualify") != nil:
		return false
	}
	for _, e := range root.list("select_list") {
		if !b.isItemOfRow(asNode(e)) {
			return false
		}
	}
	return true
}

// isItemOfRow reports whether an item of a select list is computed from one row, gives one, and does not call another thing _timestamp.
func (b *binder) isItemOfRow(item node) bool {
	ok := !lowerEqual(item.str("alias"), signal.TimeColumn)
	walk(item, func(n node) bool {
		switch n.class() {
		case "WINDOW", "SUBQUERY":
			ok = false
		case "STAR":
			ok = ok && len(n.list("replace_list")) == 0 && len(n.list("rename_list")) == 0
		case "FUNCTION":
			name := n.str("function_name")
			ok = ok && name != "unnest" && !b.query.planner.functions.Allowed(Aggregate, name)
		}
		return ok
	})
	return ok
}

// byTime reports whether orders are _timestamp alone.
func byTime(orders []any) bool {
	if len(orders) != 1 {
		return false
	}
	parts := asNode(orders[0]).sub("expression").texts("column_names")
	return len(parts) > 0 && lowerEqual(parts[len(parts)-1], signal.TimeColumn)
}

// smallNumber returns a literal number of rows below a billion; nil is 0.
func smallNumber(n node) (int64, bool) {
	const most = 9 // digits
	if n == nil {
		return 0, true
	}
	typ, text, ok := constantValue(n)
	if !ok || typeClass(typ) != classNumber || len(text) > most {
		return 0, false
	}
	v, err := strconv.ParseInt(text, 10, 64)
	return v, err == nil && v >= 0
}
