package sqlplan

import "maps"

// role says what a field of a node holds, and so what must be checked in it.
type role uint8

const (
	roleData    role = iota // names, flags, numbers: nothing below it
	roleExpr                // an expression or null
	roleExprs               // a list of expressions
	roleRows                // a list of lists of expressions
	roleTable               // a table reference
	roleQuery               // a query node
	roleInner               // {"node": query node}, or null
	roleCTEs                // {"map": [{"key": name, "value": …}]}
	roleOrders              // a list of {"type", "null_order", "expression"}
	roleOrderBy             // {"type": "ORDER_MODIFIER", "orders": …}
	roleMods                // a list of modifiers
	roleCases               // a list of {"when_expr", "then_expr"}
	roleReplace             // a list of {"key", "value": expression}
	rolePivots              // a list of pivot columns
	roleType                // a type
	roleFuncRef             // the FUNCTION expression of a table function
	roleNull                // must be null, false or empty: a feature that is not accepted
)

// shape lists the fields that a node may have. A field that is not listed, and a node without a shape, is refused: it is syntax that this
// package does not know.
type shape map[string]role

func with(common, own shape) shape {
	out := make(shape, len(common)+len(own))
	maps.Copy(out, common)
	maps.Copy(out, own)
	return out
}

// shapes is the grammar that is accepted, as the engine serializes it.
type shapes struct {
	exprs  map[string]shape // by class
	tables map[string]shape // by type
	nodes  map[string]shape // by type
	mods   map[string]shape // by type
}

func newShapes() shapes {
	expr := shape{"class": roleData, "type": roleData, "alias": roleData, "query_location": roleData}
	table := shape{"type": roleData, "alias": roleData, "sample": roleData, "query_location": roleData}
	query := shape{"type": roleData, "modifiers": roleMods, "cte_map": roleCTEs}
	return shapes{
		exprs: map[string]shape{
			"BETWEEN":     with(expr, shape{"input": roleExpr, "lower": roleExpr, "upper": roleExpr}),
			"CASE":        with(expr, shape{"case_checks": roleCases, "else_expr": roleExpr}),
			"CAST":        with(expr, shape{"child": roleExpr, "cast_type": roleType, "try_cast": roleData}),
			"COLLATE":     with(expr, shape{"child": roleExpr, "collation": roleData}),
			"COLUMN_REF":  with(expr, shape{"column_names": roleData}),
			"COMPARISON":  with(expr, shape{"left": roleExpr, "right": roleExpr}),
			"CONJUNCTION": with(expr, shape{"children": roleExprs}),
			"CONSTANT":    with(expr, shape{"value": roleData}),
			"FUNCTION": with(expr, shape{
				"function_name": roleData, "schema": roleData, "catalog": roleData, "children": roleExprs, "filter": roleExpr,
				"order_bys": roleOrderBy, "distinct": roleData, "is_operator": roleData, "export_state": roleNull,
			}),
			"LAMBDA":   with(expr, shape{"lhs": roleExpr, "expr": roleExpr}),
			"OPERATOR": with(expr, shape{"children": roleExprs}),
			"STAR": with(expr, shape{
				"relation_name": roleData, "exclude_list": roleData, "qualified_exclude_list": roleData, "rename_list": roleData,
				"replace_list": roleReplace, "columns": roleData, "expr": roleExpr,
			}),
			"SUBQUERY": with(expr, shape{"subquery_type": roleData, "subquery": roleInner, "child": roleExpr, "comparison_type": roleData}),
			"WINDOW": with(expr, shape{
				"function_name": roleData, "schema": roleData, "catalog": roleData, "children": roleExprs, "partitions": roleExprs,
				"orders":     roleOrders,
				"arg_orders": roleOrders, "start": roleData, "end": roleData, "start_expr": roleExpr, "end_expr": roleExpr, "offset_expr": roleExpr,
				"default_expr": roleExpr, "ignore_nulls": roleData, "filter_expr": roleExpr, "exclude_clause": roleData, "distinct": roleData,
			}),
		},
		tables: map[string]shape{
			"BASE_TABLE": with(table, shape{
				"schema_name": roleData, "table_name": roleData, "catalog_name": roleData, "column_name_alias": roleData, "at_clause": roleNull,
			}),
			"EMPTY":           table,
			"EXPRESSION_LIST": with(table, shape{"values": roleRows, "expected_names": roleData, "expected_types": roleNull}),
			"JOIN": with(table, shape{
				"left": roleTable, "right": roleTable, "condition": roleExpr, "join_type": roleData, "ref_type": roleData,
				"using_columns": roleData, "delim_flipped": roleNull, "duplicate_eliminated_columns": roleNull,
			}),
			"PIVOT": with(table, shape{
				"source": roleTable, "aggregates": roleExprs, "unpivot_names": roleData, "pivots": rolePivots, "groups": roleData,
				"column_name_alias": roleData, "include_nulls": roleData,
			}),
			"SHOW_REF": with(table, shape{
				"show_type": roleData, "table_name": roleNull, "catalog_name": roleNull, "schema_name": roleNull, "query": roleQuery,
			}),
			"SUBQUERY":       with(table, shape{"subquery": roleInner, "column_name_alias": roleData}),
			"TABLE_FUNCTION": with(table, shape{"function": roleFuncRef, "column_name_alias": roleData, "with_ordinality": roleData}),
		},
		nodes: map[string]shape{
			"SELECT_NODE": with(query, shape{
				"select_list": roleExprs, "from_table": roleTable, "where_clause": roleExpr, "group_expressions": roleExprs,
				"group_sets": roleData, "aggregate_handling": roleData, "having": roleExpr, "sample": roleData, "qualify": roleExpr,
			}),
			"SET_OPERATION_NODE": with(query, shape{"setop_type": roleData, "setop_all": roleData, "left": roleQuery, "right": roleQuery}),
			"RECURSIVE_CTE_NODE": with(query, shape{
				"cte_name": roleData, "union_all": roleData, "left": roleQuery, "right": roleQuery, "aliases": roleData, "key_targets": roleExprs,
			}),
		},
		mods: map[string]shape{
			"DISTINCT_MODIFIER":      {"type": roleData, "distinct_on_targets": roleExprs},
			"LIMIT_MODIFIER":         {"type": roleData, "limit": roleExpr, "offset": roleExpr},
			"LIMIT_PERCENT_MODIFIER": {"type": roleData, "limit": roleExpr, "offset": roleExpr},
			"ORDER_MODIFIER":         {"type": roleData, "orders": roleOrders},
		},
	}
}

// exprTypes are the types of expressions that are accepted, by class. The names of classes whose only type needs no look are left out.
func exprTypes() map[string]map[string]bool {
	set := func(names ...string) map[string]bool {
		m := make(map[string]bool, len(names))
		for _, n := range names {
			m[n] = true
		}
		return m
	}
	return map[string]map[string]bool{
		"BETWEEN":    set("COMPARE_BETWEEN"),
		"CASE":       set("CASE_EXPR"),
		"CAST":       set("OPERATOR_CAST"),
		"COLLATE":    set("COLLATE"),
		"COLUMN_REF": set("COLUMN_REF"),
		"COMPARISON": set("COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN", "COMPARE_LESSTHANOREQUALTO",
			"COMPARE_GREATERTHANOREQUALTO", "COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM"),
		"CONJUNCTION": set("CONJUNCTION_AND", "CONJUNCTION_OR"),
		"CONSTANT":    set("VALUE_CONSTANT"),
		"FUNCTION":    set("FUNCTION"),
		"LAMBDA":      set("LAMBDA"),
		"OPERATOR": set("ARRAY_CONSTRUCTOR", "ARRAY_EXTRACT", "ARRAY_SLICE", "COMPARE_IN", "COMPARE_NOT_IN", "GROUPING_FUNCTION",
			"OPERATOR_COALESCE", "OPERATOR_IS_NOT_NULL", "OPERATOR_IS_NULL", "OPERATOR_NOT", "OPERATOR_NULLIF", "OPERATOR_TRY", "OPERATOR_UNPACK",
			"STRUCT_EXTRACT"),
		"STAR":     set("STAR"),
		"SUBQUERY": set("SUBQUERY"),
		"WINDOW": set("WINDOW_AGGREGATE", "WINDOW_CUME_DIST", "WINDOW_FIRST_VALUE", "WINDOW_LAG", "WINDOW_LAST_VALUE", "WINDOW_LEAD",
			"WINDOW_NTH_VALUE", "WINDOW_NTILE", "WINDOW_PERCENT_RANK", "WINDOW_RANK", "WINDOW_RANK_DENSE", "WINDOW_ROW_NUMBER", "WINDOW_FILL"),
	}
}
