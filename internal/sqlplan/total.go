package sqlplan

// total recognises SELECT count(*) FROM stream and returns the name of its column; empty for any other statement. It comes after
// nameItems.
func (b *binder) total(root node) string {
	items, modifiers := root.list("select_list"), root.list("modifiers")
	if root.kind() != "SELECT_NODE" || len(items) != 1 || len(modifiers) > 0 || root.sub("where_clause") != nil ||
		len(root.list("group_sets")) > 0 || len(root.sub("cte_map").list("map")) > 0 {
		return ""
	}
	item, from := asNode(items[0]), root.sub("from_table")
	if from.kind() != "BASE_TABLE" || len(b.tables) != 1 || from.str("table_name") != generated(0) || from.sub("sample") != nil ||
		root.sub("sample") != nil || root.sub("having") != nil || root.sub("qualify") != nil || len(root.list("group_expressions")) > 0 {
		return ""
	}
	if item.class() != "FUNCTION" || item.str("function_name") != "count_star" || item.sub("filter") != nil || len(item.list("children")) > 0 {
		return ""
	}
	if name := item.str("alias"); name != "" {
		return name
	}
	return "count_star()" // as the engine calls it
}
