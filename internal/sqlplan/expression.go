package sqlplan

import (
	"strings"

	"github.com/millstream/millstream/internal/fault"
)

// maxNestedRewrites is how deep calls that are replaced by bounded macros may stand in each other: a macro mentions its arguments several
// times.
const maxNestedRewrites = 8

// bindList rewrites expressions and returns their classes.
func (b *binder) bindList(list []any, sc *scope) ([]class, error) {
	out := make([]class, len(list))
	for i, e := range list {
		c, err := b.bindExpr(asNode(e), sc)
		if err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}

// bindCondition rewrites an expression that is read as true or false; nil is none.
func (b *binder) bindCondition(n node, sc *scope) error {
	if n == nil {
		return nil
	}
	c, err := b.bindExpr(n, sc)
	if err == nil && c == classWidened {
		wrapTry(n, "BOOLEAN")
	}
	return err
}

// bindExpr rewrites an expression in place: columns get the names of the plan, bounded functions their macros, and columns that are text by
// widening are read as numbers where numbers are meant. It returns what is known of the type.
func (b *binder) bindExpr(n node, sc *scope) (class, error) {
	switch n.class() {
	case "COLUMN_REF":
		return b.bindColumn(n, sc)
	case "CONSTANT":
		return constantClass(n), nil
	case "STAR":
		return classUnknown, b.bindStar(n, sc)
	case "FUNCTION":
		return b.bindFunction(n, sc)
	case "WINDOW":
		return b.bindWindow(n, sc)
	case "CAST":
		return b.bindCast(n, sc)
	case "COLLATE":
		_, err := b.bindExpr(n.sub("child"), sc)
		return classText, err
	case "COMPARISON":
		return b.bindComparison(n, sc, n.sub("left"), n.sub("right"))
	case "BETWEEN":
		return b.bindComparison(n, sc, n.sub("input"), n.sub("lower"), n.sub("upper"))
	case "CONJUNCTION":
		for _, e := range n.list("children") {
			if err := b.bindCondition(asNode(e), sc); err != nil {
				return classBool, err
			}
		}
		return classBool, nil
	case "CASE":
		return b.bindCase(n, sc)
	case "OPERATOR":
		return b.bindOperator(n, sc)
	case "SUBQUERY":
		return b.bindSubquery(n, sc)
	case "LAMBDA":
		return b.bindLambda(n, sc)
	}
	return classUnknown, fault.New(fault.Internal, "bind expression of class %s", n.class())
}

func (b *binder) bindColumn(n node, sc *scope) (class, error) {
	parts := n.texts("column_names")
	if len(parts) == 1 && containsFold(sc.lambda, parts[0]) {
		return classUnknown, nil
	}
	b.note(parts...)
	f := sc.resolve(parts)
	if f.clash != nil {
		forms := make([]string, len(f.clash))
		for i, r := range f.clash {
			forms[i] = joinName(r.path)
			if len(r.path) == 0 {
				forms[i] = joinName([]string{r.alias})
			}
		}
		return classUnknown, at(fault.Invalid, b.query.text, n.offset(), "%s fits several tables: %s",
			joinName(parts[:1]), strings.Join(forms, ", "))
	}
	if f.column != nil || f.relation != nil {
		n.replace(withAlias(newColumn(n, f.parts...), n))
		b.note(f.parts...)
		if f.column == nil {
			return classUnknown, nil
		}
		if len(f.parts) > 1 && !lowerEqual(f.parts[len(f.parts)-1], f.column.field) {
			return classUnknown, nil // a field of a struct
		}
		return f.column.class, nil
	}
	if len(parts) > 1 {
		return classUnknown, nil
	}
	if c, ok := sc.item(parts[0]); ok {
		return c, nil
	}
	for s := sc; s != nil; s = s.parent {
		for _, r := range s.relations {
			if lowerEqual(r.alias, parts[0]) { // the row as a struct
				b.showAll(r)
				return classUnknown, nil
			}
		}
	}
	if v, ok := b.clockValue(n, parts[0]); ok {
		n.replace(withAlias(v, n))
		return classTime, nil
	}
	if isSession(parts[0]) {
		return classUnknown, at(fault.Invalid, b.query.text, n.offset(), "%s is not accepted", joinName(parts))
	}
	return classUnknown, nil
}

// withAlias gives n what from says beside its expression.
func withAlias(n, from node) node {
	n["alias"] = from.str("alias")
	if o, ok := from[originalKey]; ok {
		n[originalKey] = o
	}
	return n
}

// isSession reports whether a name, where no column has it, asks the engine about itself.
func isSession(name string) bool {
	switch strings.ToLower(name) {
	case "current_catalog", "current_database", "current_role", "current_schema", "current_user", "session_user", "user":
		return true
	}
	return false
}

// bindStar notes that the relations under a star are shown whole.
func (b *binder) bindStar(n node, sc *scope) error {
	use := starUse{node: n}
	for _, r := range sc.relations {
		if q := n.str("relation_name"); q == "" || r.qualifiedBy([]string{q}) {
			if q != "" {
				n["relation_name"] = r.alias
			}
			b.showAll(r)
			use.relations = append(use.relations, r)
		}
	}
	b.stars = append(b.stars, use)
	for _, e := range n.list("qualified_exclude_list") {
		x := asNode(e)
		x["catalog"], x["schema"] = "", ""
	}
	for _, e := range n.list("replace_list") {
		if _, err := b.bindExpr(asNode(e).sub("value"), sc); err != nil {
			return err
		}
	}
	x := n.sub("expr")
	if x == nil {
		return nil
	}
	if x.class() == "FUNCTION" && x.str("function_name") == "list_filter" { // COLUMNS(c -> …)
		_, err := b.bindLambda(asNode(x.list("children")[1]), sc)
		return err
	}
	_, err := b.bindExpr(x, sc)
	return err
}

// bindLambda rewrites the body of a function of column names.
func (b *binder) bindLambda(n node, sc *scope) (class, error) {
	inner := &scope{parent: sc.parent, relations: sc.relations, items: sc.items, pivot: sc.pivot}
	inner.lambda = append(append(inner.lambda, sc.lambda...), n.sub("lhs").texts("column_names")...)
	_, err := b.bindExpr(n.sub("expr"), inner)
	return classUnknown, err
}

func (b *binder) bindCast(n node, sc *scope) (class, error) {
	c, err := b.bindExpr(n.sub("child"), sc)
	if err != nil {
		return classUnknown, err
	}
	if c == classWidened {
		n["try_cast"] = true
	}
	return typeClass(n.sub("cast_type").str("id")), nil
}

func (b *binder) bindCase(n node, sc *scope) (class, error) {
	var values []node
	for _, e := range n.list("case_checks") {
		if err := b.bindCondition(asNode(e).sub("when_expr"), sc); err != nil {
			return classUnknown, err
		}
		values = append(values, asNode(e).sub("then_expr"))
	}
	if e := n.sub("else_expr"); e != nil {
		values = append(values, e)
	}
	classes, err := b.bindAlternatives(values, sc)
	if err != nil {
		return classUnknown, err
	}
	return oneKind(values, classes), nil
}

// bindAlternatives binds expressions of which one will be the value. JSON columns stay JSON only among themselves.
func (b *binder) bindAlternatives(values []node, sc *scope) ([]class, error) {
	bind := b.bindExpr
	for _, v := range values {
		if !isJSONColumn(v, sc) && !constantIsNull(v) {
			bind = b.bindOperand
		}
	}
	classes := make([]class, len(values))
	for i, v := range values {
		var err error
		if classes[i], err = bind(v, sc); err != nil {
			return nil, err
		}
	}
	return classes, nil
}

func constantIsNull(n node) bool { return n.class() == "CONSTANT" && n.sub("value").flag("is_null") }

func nodesOf(list []any) []node {
	out := make([]node, len(list))
	for i, e := range list {
		out[i] = asNode(e)
	}
	return out
}

func (b *binder) bindOperator(n node, sc *scope) (class, error) {
	children := n.list("children")
	switch n.kind() {
	case "OPERATOR_NOT":
		return classBool, b.bindCondition(asNode(children[0]), sc)
	case "COMPARE_IN", "COMPARE_NOT_IN":
		return b.bindComparison(n, sc, nodesOf(children)...)
	case "OPERATOR_COALESCE":
		values := nodesOf(children)
		classes, err := b.bindAlternatives(values, sc)
		if err != nil {
			return classUnknown, err
		}
		return oneKind(values, classes), nil
	}
	classes, err := b.bindList(children, sc)
	if err != nil {
		return classUnknown, err
	}
	switch n.kind() {
	case "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL":
		return classBool, nil
	case "OPERATOR_NULLIF":
		sameKind(asNode(children[0]), classes[0], asNode(children[1]), classes[1])
		return classes[0], nil
	case "OPERATOR_TRY":
		return classes[0], nil
	case "GROUPING_FUNCTION":
		return classNumber, nil
	}
	return classUnknown, nil
}

// bindSubquery rewrites (SELECT …), EXISTS and x = ANY (SELECT …).
func (b *binder) bindSubquery(n node, sc *scope) (class, error) {
	out, err := b.bindQuery(n.sub("subquery").sub("node"), sc)
	if err != nil {
		return classUnknown, err
	}
	first := classUnknown
	if len(out.columns) > 0 {
		first = out.columns[0].class
	}
	child := n.sub("child")
	if child == nil {
		if n.str("subquery_type") == "SCALAR" {
			return first, nil
		}
		return classBool, nil
	}
	c, err := b.bindExpr(child, sc)
	if err != nil {
		return classBool, err
	}
	switch {
	case c == classWidened && isTyped(first):
		wrapTry(child, engineType(first))
	case first == classWidened && isTyped(c):
		wrapText(child)
	}
	return classBool, nil
}

func (b *binder) bindWindow(n node, sc *scope) (class, error) {
	classes, err := b.bindList(n.list("children"), sc)
	if err != nil {
		return classUnknown, err
	}
	if _, err := b.bindList(n.list("partitions"), sc); err != nil {
		return classUnknown, err
	}
	for _, key := range []string{"orders", "arg_orders"} {
		if err := b.bindOrders(n.list(key), sc); err != nil {
			return classUnknown, err
		}
	}
	for _, key := range []string{"start_expr", "end_expr", "offset_expr", "default_expr"} {
		x := n.sub(key)
		if x == nil {
			continue
		}
		c, err := b.bindExpr(x, sc)
		if err != nil {
			return classUnknown, err
		}
		if key == "default_expr" && len(classes) > 0 { // of lag and lead
			oneKind([]node{asNode(n.list("children")[0]), x}, []class{classes[0], c})
		}
	}
	if err := b.bindCondition(n.sub("filter_expr"), sc); err != nil {
		return classUnknown, err
	}
	return b.widenCall(n, classes, sc), nil
}

// bindArguments is bindList for the arguments of a function.
func (b *binder) bindArguments(name string, list []any, sc *scope) ([]class, error) {
	if args, _ := argumentsOf(name); args == keepsAny {
		return b.bindAlternatives(nodesOf(list), sc)
	}
	return b.bindList(list, sc)
}

func (b *binder) bindFunction(n node, sc *scope) (class, error) {
	name := n.str("function_name")
	if v, ok := b.clockValue(n, name); ok && len(n.list("children")) == 0 {
		n.replace(withAlias(v, n))
		return classTime, nil
	}
	macro, bounded := b.query.planner.functions.Rewrite(Scalar, name)
	deeper := bounded && name != "||" && name != "replace"
	if deeper {
		b.nesting++
		if b.nesting > maxNestedRewrites {
			return classUnknown, at(fault.Invalid, b.query.text, n.offset(), "function %s is nested too deeply", joinName([]string{name}))
		}
	}
	cutsTime := b.cutsTime(n, sc)
	classes, err := b.bindArguments(name, n.list("children"), sc)
	if deeper {
		b.nesting--
	}
	if err != nil {
		return classUnknown, err
	}
	if err := b.bindCondition(n.sub("filter"), sc); err != nil {
		return classUnknown, err
	}
	if err := b.bindOrders(n.sub("order_bys").list("orders"), sc); err != nil {
		return classUnknown, err
	}
	if name == matchFunction {
		return classBool, expandMatch(n)
	}
	if cutsTime {
		cutPlainTime(n)
		return classTime, nil
	}
	result := b.widenCall(n, classes, sc)
	if bounded && n.str("function_name") == name {
		n["function_name"], n["is_operator"] = macro, false
	}
	return result, nil
}
