package sqlplan

import (
	"fmt"

	"github.com/millstream/millstream/internal/fault"
)

// maxDepth bounds how deeply a statement may be nested.
const maxDepth = 400

// generatedPrefix begins the names of tables in a plan.
const generatedPrefix = "ms_t"

// originalKey is the field of an item of a select list that keeps its number among Query.items, where it stands as the user wrote it.
const originalKey = "millstream_original"

// ctePrefix begins the names of common table expressions in a plan. They get new names too, so that none can mean a view of the engine.
const ctePrefix = "ms_c"

// checker walks the whole tree of a statement: unknown syntax and functions that are not on the list are refused, method calls become plain
// calls, and references to streams are collected.
type checker struct {
	text      string
	shapes    shapes
	types     map[string]map[string]bool
	functions Functions
	refs      []*reference
	ctes      []string // the names of common table expressions by number
	items     []node   // of select lists, whose columns are named after their text
	depth     int
}

// reference is a table reference that is no common table expression.
type reference struct {
	node node
	name Name
	bare bool // without an alias of the user's: its name qualifies columns
}

// cteScope is the list of common table expressions that are visible at a place, the nearest first.
type cteScope struct {
	name      string
	generated string
	outer     *cteScope
}

// find returns the generated name of the common table expression that name means, "" if none.
func (s *cteScope) find(name string) string {
	for ; s != nil; s = s.outer {
		if lowerEqual(s.name, name) {
			return s.generated
		}
	}
	return ""
}

func (c *checker) refuse(n node, format string, args ...any) error {
	return at(fault.Invalid, c.text, n.offset(), format, args...)
}

// enter counts the depth; the caller leaves by c.depth--.
func (c *checker) enter(n node) error {
	c.depth++
	if c.depth > maxDepth {
		return c.refuse(n, "the statement is nested too deeply")
	}
	return nil
}

// fields checks every field of n against its shape.
func (c *checker) fields(n node, s shape, ctes *cteScope) error {
	for key, value := range n {
		if _, known := s[key]; !known && value != nil {
			return c.refuse(n, "%s with %s is not accepted", n.kind(), key)
		}
	}
	for _, key := range fieldOrder(s) {
		value, present := n[key]
		if !present || value == nil {
			continue
		}
		if err := c.field(n, key, s[key], ctes); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) field(n node, key string, r role, ctes *cteScope) error {
	switch r {
	case roleData, roleCTEs: // common table expressions come first, see query
		return nil
	case roleNull:
		return c.null(n, key)
	case roleExpr:
		return c.expr(n.sub(key), ctes)
	case roleExprs:
		return c.exprs(n.list(key), ctes)
	case roleRows:
		for _, row := range n.list(key) {
			list, _ := row.([]any)
			if err := c.exprs(list, ctes); err != nil {
				return err
			}
		}
		return nil
	case roleTable:
		return c.table(n.sub(key), ctes)
	case roleQuery:
		return c.query(n.sub(key), ctes)
	case roleInner:
		return c.query(n.sub(key).sub("node"), ctes)
	case roleOrderBy:
		return c.orders(n.sub(key).list("orders"), ctes)
	case roleFuncRef:
		return c.tableFunction(n.sub(key), ctes)
	case roleType:
		return c.typ(n, n.sub(key))
	default:
		return c.listField(n.list(key), r, ctes)
	}
}

// listField checks a list whose elements are no expressions.
func (c *checker) listField(list []any, r role, ctes *cteScope) error {
	switch r {
	case roleOrders:
		return c.orders(list, ctes)
	case roleMods:
		return c.modifiers(list, ctes)
	case roleCases:
		return c.parts(list, ctes, "when_expr", "then_expr")
	case roleReplace:
		return c.parts(list, ctes, "value")
	case rolePivots:
		return c.pivots(list, ctes)
	default:
		return fault.New(fault.Internal, "no check of role %d", r)
	}
}

func (c *checker) null(n node, key string) error {
	switch v := n[key].(type) {
	case bool:
		if !v {
			return nil
		}
	case string:
		if v == "" {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
	}
	return c.refuse(n, "%s with %s is not accepted", n.kind(), key)
}

func (c *checker) exprs(list []any, ctes *cteScope) error {
	for _, e := range list {
		if err := c.expr(asNode(e), ctes); err != nil {
			return err
		}
	}
	return nil
}

// parts checks the expressions under keys of every element.
func (c *checker) parts(list []any, ctes *cteScope, keys ...string) error {
	for _, e := range list {
		for _, key := range keys {
			if err := c.expr(asNode(e).sub(key), ctes); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *checker) orders(list []any, ctes *cteScope) error {
	return c.parts(list, ctes, "expression")
}

func (c *checker) modifiers(list []any, ctes *cteScope) error {
	for _, e := range list {
		m := asNode(e)
		s, ok := c.shapes.mods[m.kind()]
		if !ok {
			return c.refuse(m, "%s is not accepted", m.kind())
		}
		if err := c.fields(m, s, ctes); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) pivots(list []any, ctes *cteScope) error {
	for _, e := range list {
		p := asNode(e)
		if p.str("pivot_enum") != "" {
			return c.refuse(p, "PIVOT with an enum is not accepted; list the values: ON a IN ('x', 'y')")
		}
		if err := c.exprs(p.list("pivot_expressions"), ctes); err != nil {
			return err
		}
		if err := c.parts(p.list("entries"), ctes, "star_expr"); err != nil {
			return err
		}
	}
	return nil
}

// query checks a query node: first its common table expressions in their order, each of which sees those before it, then the rest.
func (c *checker) query(n node, ctes *cteScope) error {
	if err := c.enter(n); err != nil {
		return err
	}
	defer func() { c.depth-- }()
	s, ok := c.shapes.nodes[n.kind()]
	if !ok {
		return c.refuse(n, "%s is not accepted", n.kind())
	}
	for _, e := range n.sub("cte_map").list("map") {
		entry := asNode(e)
		q := entry.sub("value").sub("query").sub("node")
		own := &cteScope{name: entry.str("key"), generated: fmt.Sprintf("%s%d", ctePrefix, len(c.ctes)), outer: ctes}
		c.ctes = append(c.ctes, own.name)
		inner := ctes
		if q.kind() == "RECURSIVE_CTE_NODE" {
			inner = own
			q["cte_name"] = own.generated
		}
		if err := c.query(q, inner); err != nil {
			return err
		}
		entry["key"] = own.generated
		ctes = own
	}
	if err := c.fields(n, s, ctes); err != nil {
		return err
	}
	for _, e := range n.list("select_list") {
		if item := asNode(e); item.str("alias") == "" && namedByText(item) {
			item[originalKey] = len(c.items)
			c.items = append(c.items, item)
		}
	}
	return nil
}

// namedByText reports whether the engine names the column of an item after the item's text.
func namedByText(item node) bool {
	switch item.class() {
	case "COLUMN_REF", "STAR", "CONSTANT":
		return false
	}
	named := true
	walk(item, func(n node) bool {
		if n.class() == "STAR" || n.class() == "FUNCTION" && lowerEqual(n.str("function_name"), "unnest") {
			named = false // becomes several columns, named by the engine
		}
		return named && n.kind() != "SELECT_NODE"
	})
	return named
}

// walk calls visit for v and every node below it that has a type, parents first, as long as visit says so.
func walk(v any, visit func(n node) bool) {
	switch v := v.(type) {
	case node:
		walk(map[string]any(v), visit)
	case map[string]any:
		if n := node(v); n.kind() != "" && !visit(n) {
			return
		}
		for key, e := range v {
			if key != originalKey {
				walk(e, visit)
			}
		}
	case []any:
		for _, e := range v {
			walk(e, visit)
		}
	}
}

// table checks a table reference.
func (c *checker) table(n node, ctes *cteScope) error {
	if err := c.enter(n); err != nil {
		return err
	}
	defer func() { c.depth-- }()
	s, ok := c.shapes.tables[n.kind()]
	if !ok {
		return c.refuse(n, "%s is not accepted", n.kind())
	}
	if n.kind() == "SHOW_REF" && (n.sub("query") == nil || n.str("show_type") != "SUMMARY" && n.str("show_type") != "DESCRIBE") {
		return c.refuse(n, "SHOW inside a query is not accepted")
	}
	if n.kind() == "BASE_TABLE" {
		if err := c.reference(n, ctes); err != nil {
			return err
		}
	}
	return c.fields(n, s, ctes)
}

// reference collects n, or gives it the new name of the common table expression that it means, which only an unqualified name can.
func (c *checker) reference(n node, ctes *cteScope) error {
	if n.str("catalog_name") == "" && n.str("schema_name") == "" {
		if name := ctes.find(n.str("table_name")); name != "" {
			if n.str("alias") == "" {
				n["alias"] = n.str("table_name")
			}
			n["table_name"] = name
			return nil
		}
	}
	if len(n.list("column_name_alias")) > 0 {
		return c.refuse(n, "column aliases of a stream are not accepted, its columns have no fixed order; name them in a subquery")
	}
	var parts []string
	for _, key := range []string{"catalog_name", "schema_name", "table_name"} {
		if part := n.str(key); part != "" || key == "table_name" {
			parts = append(parts, part)
		}
	}
	c.refs = append(c.refs, &reference{node: n, name: Name{Parts: parts, Offset: n.offset()}})
	return nil
}

// generated returns the name of the i-th reference in a plan.
func generated(i int) string { return fmt.Sprintf("%s%d", generatedPrefix, i) }

// expr checks an expression; nil is none.
func (c *checker) expr(n node, ctes *cteScope) error {
	if n == nil {
		return nil
	}
	if err := c.enter(n); err != nil {
		return err
	}
	defer func() { c.depth-- }()
	s, ok := c.shapes.exprs[n.class()]
	if !ok || !c.types[n.class()][n.kind()] {
		return c.unknownExpr(n)
	}
	var err error
	switch n.class() {
	case "LAMBDA":
		if err = c.arrow(n); err == nil {
			return c.expr(n, ctes)
		}
	case "STAR":
		if body := columnsLambda(n); body != nil {
			s = with(s, shape{"expr": roleData})
			err = c.expr(body, ctes)
		}
	case "FUNCTION":
		err = c.call(n, Scalar, Aggregate)
	case "WINDOW":
		err = c.call(n, Window, Aggregate)
	}
	if err != nil {
		return err
	}
	return c.fields(n, s, ctes)
}

// arrow makes json -> 'path', which the parser cannot tell from a lambda function, a plain operator. Functions with lambdas are not on the
// list, so a lambda that is meant stands in a call that is refused before.
func (c *checker) arrow(n node) error {
	lhs := n.sub("lhs")
	if lhs.class() == "FUNCTION" && lhs.str("function_name") == "row" {
		return c.refuse(n, "lambda functions are not accepted")
	}
	arrow := newFunction(n, "->", lhs, n.sub("expr"))
	arrow["alias"], arrow["is_operator"] = n.str("alias"), true
	n.replace(arrow)
	return nil
}

// columnsLambda returns the body of the function in COLUMNS(c -> …), or nil: the parser makes list_filter(*, c -> …) of it.
func columnsLambda(star node) node {
	filter := star.sub("expr")
	children := filter.list("children")
	if !star.flag("columns") || filter.class() != "FUNCTION" || filter.str("function_name") != "list_filter" || len(children) != 2 {
		return nil
	}
	list, lambda := asNode(children[0]), asNode(children[1])
	if list.class() != "STAR" || lambda.class() != "LAMBDA" || lambda.sub("lhs").class() != "COLUMN_REF" {
		return nil
	}
	return lambda.sub("expr")
}

func (c *checker) unknownExpr(n node) error {
	switch n.class() {
	case "PARAMETER":
		return c.refuse(n, "parameters ($1, ?) are not accepted; write the value")
	case "POSITIONAL_REFERENCE":
		return c.refuse(n, "positional references (#1) are not accepted; name the column")
	case "DEFAULT":
		return c.refuse(n, "DEFAULT is not accepted")
	}
	return c.refuse(n, "%s is not accepted", n.kind())
}
