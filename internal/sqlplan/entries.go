package sqlplan

// Entries says how many rows a statement may answer when they are stored rows, more or less changed, and not computed from many.
type Entries struct {
	// Stored is false for aggregates, and for statements that read no stream.
	Stored bool
	// Most is the statement's LIMIT or the request's; 0 = as many as there are.
	Most int64
}

// entries looks at the outermost query. A subquery in FROM counts as stored rows whatever it does.
func (b *binder) entries(root node) Entries {
	if len(b.tables) == 0 || b.isAggregate(root) {
		return Entries{}
	}
	out := Entries{Stored: true, Most: b.in.Limit}
	for _, e := range root.list("modifiers") {
		m := asNode(e)
		if m.kind() != "LIMIT_MODIFIER" || m.sub("limit") == nil {
			continue
		}
		if rows, ok := smallNumber(m.sub("limit")); ok && (out.Most == 0 || rows < out.Most) {
			out.Most = rows
		}
	}
	return out
}

// isAggregate reports whether the rows of a query are groups of others.
func (b *binder) isAggregate(root node) bool {
	if root.kind() != "SELECT_NODE" {
		return false
	}
	found := len(root.list("group_expressions")) > 0 || root.str("aggregate_handling") != "STANDARD_HANDLING"
	for _, e := range root.list("select_list") {
		walk(asNode(e), func(n node) bool {
			switch n.class() {
			case "SUBQUERY", "WINDOW":
				return false
			case "FUNCTION":
				found = found || b.query.planner.functions.Allowed(Aggregate, n.str("function_name"))
			}
			return true
		})
	}
	return found
}
