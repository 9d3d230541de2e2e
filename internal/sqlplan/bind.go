package sqlplan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
)

// Binding is what Bind needs to know.
type Binding struct {
	// Columns are the columns of every stream of the query, with the types of all rows that the statement will see, buffered ones included.
	Columns map[catalog.StreamID][]catalog.Column
	// Now is the time of the statement: now(), current_timestamp and current_date mean it everywhere in the statement.
	Now time.Time
	// Limit, when positive, is the largest number of rows to answer.
	Limit int64
}

// binder makes a Plan of a resolved query.
type binder struct {
	query   *Query
	in      Binding
	tables  []*tableDraft
	ctes    map[string]*output // by generated name
	named   map[string]bool    // every name in a column reference, in lower case
	stars   []starUse
	eval    func(e node, asTime bool) (Constant, bool) // see constants.go
	nesting int                                        // rewritten calls around
}

// tableDraft collects what one reference needs.
type tableDraft struct {
	columns []column
	all     bool
	limits  constraint
}

// starUse is a * and the relations that it shows.
type starUse struct {
	node      node
	relations []*relation
}

// output is what a query node gives to the one around it.
type output struct {
	columns []column
	known   bool
}

// Bind rewrites the query for the engine. It may be called again with other columns: it changes nothing of q.
func (q *Query) Bind(ctx context.Context, in Binding) (*Plan, error) {
	if len(q.streams) != len(q.refs) {
		return nil, fault.New(fault.Internal, "bind of a query whose streams are not resolved")
	}
	b := &binder{query: q, in: in, ctes: map[string]*output{}, named: map[string]bool{}}
	b.eval = b.evaluator(ctx)
	for _, s := range q.streams {
		b.tables = append(b.tables, &tableDraft{columns: streamColumns(in.Columns[s.ID]), limits: unlimited()})
	}
	root := q.root.clone()
	newest, entries, counts := b.topN(root), b.entries(root), b.counts(root)
	if _, err := b.bindQuery(root, nil); err != nil {
		return nil, err
	}
	b.hideColumns()
	if err := b.nameItems(ctx, root); err != nil {
		return nil, err
	}
	plan := &Plan{Tables: make([]Table, len(b.tables)), Entries: entries, Total: b.total(root)}
	bound := root
	root = limitRows(root, in.Limit)
	for i, t := range b.tables {
		plan.Tables[i] = Table{
			Name: generated(i), Stream: q.streams[i], Columns: b.columnSet(t), Time: t.limits.time,
			Predicates: t.limits.predicates, Words: t.limits.words,
		}
	}
	if newest != nil {
		plan.Tables[0].TopN = newest
	}
	if counts != nil && identity(root) == identity(bound) {
		plan.Counts = counts.finish(b, &plan.Tables[0], root)
	}
	return plan, b.finish(ctx, plan, root)
}

// finish writes the text and proves that it reads generated tables only.
func (b *binder) finish(ctx context.Context, plan *Plan, root node) error {
	tree, err := encodeTree(root)
	if err != nil {
		return err
	}
	engine := b.query.planner.engine
	if plan.SQL, err = engine.DeserializeSQL(ctx, tree); err != nil {
		return fmt.Errorf("write statement: %w", err)
	}
	again, err := engine.SerializeSQL(ctx, plan.SQL)
	if err != nil {
		return fault.Wrap(fault.Internal, errors.New(err.Error()), "parse rewritten statement")
	}
	back, err := decodeTree(again)
	if err != nil {
		return fault.Wrap(fault.Internal, errors.New(err.Error()), "parse rewritten statement")
	}
	if err := onlyGenerated(back, len(b.tables), len(b.query.ctes)); err != nil {
		return err
	}
	plan.source = newSource(b.query, root, back, b.tables)
	return nil
}

// onlyGenerated checks that every table in a tree is a generated one or a common table expression with a generated name.
func onlyGenerated(root node, tables, ctes int) error {
	known := map[string]bool{}
	for i := range tables {
		known[generated(i)] = true
	}
	for i := range ctes {
		known[fmt.Sprintf("%s%d", ctePrefix, i)] = true
	}
	var bad error
	walk(root, func(n node) bool {
		if n.kind() == "BASE_TABLE" && (n.str("catalog_name") != "" || n.str("schema_name") != "" || !known[n.str("table_name")]) {
			bad = fault.New(fault.Internal, "rewritten statement reads table %q", n.str("table_name"))
		}
		return bad == nil
	})
	return bad
}

// columnSet returns the columns of a table that the statement names anywhere.
func (b *binder) columnSet(t *tableDraft) ColumnSet {
	set := ColumnSet{All: t.all}
	for _, c := range t.columns {
		if b.named[strings.ToLower(c.field)] || b.named[strings.ToLower(c.name)] {
			set.Names = append(set.Names, c.field)
		}
	}
	slices.Sort(set.Names)
	return set
}

// note remembers the names of a column reference: any of its parts may be the column, and so may parts joined by dots.
func (b *binder) note(parts ...string) {
	for i := range parts {
		for j := i + 1; j <= len(parts); j++ {
			b.named[strings.ToLower(strings.Join(parts[i:j], "."))] = true
		}
	}
}

// hideColumns takes columns of ours out of every * over a table whose view shows them because the statement names them elsewhere.
func (b *binder) hideColumns() {
	for _, use := range b.stars {
		for _, name := range hiddenColumns() {
			if !b.named[name] || !slices.ContainsFunc(use.relations, func(r *relation) bool { return r.ref >= 0 && r.find(name) != nil }) {
				continue
			}
			if !slices.ContainsFunc(use.node.texts("exclude_list"), func(s string) bool { return lowerEqual(s, name) }) {
				use.node["exclude_list"] = append(use.node.list("exclude_list"), name)
			}
		}
	}
}

// nameItems gives select items that were rewritten the name that the engine would have given to what the user wrote.
func (b *binder) nameItems(ctx context.Context, root node) error {
	var failed error
	walk(root, func(n node) bool {
		number, ok := n[originalKey].(int)
		if !ok || failed != nil {
			return failed == nil
		}
		delete(n, originalKey)
		original := b.query.items[number]
		if n.str("alias") != "" || !readsTable(original) && sameTree(map[string]any(n), map[string]any(original)) {
			return true
		}
		name, err := b.textOf(ctx, original)
		if err != nil {
			failed = err
			return false
		}
		n["alias"] = name
		return true
	})
	return failed
}

// readsTable reports whether a table is named in an expression.
func readsTable(e node) bool {
	found := false
	walk(e, func(n node) bool {
		found = found || n.kind() == "BASE_TABLE"
		return !found
	})
	return found
}

// textOf returns an expression as the engine writes it.
func (b *binder) textOf(ctx context.Context, e node) (string, error) {
	e = e.clone()
	walk(e, func(n node) bool {
		delete(n, originalKey)
		b.restoreName(n)
		return true
	})
	tree, err := encodeTree(newSelect(newEmptyTable(), e))
	if err != nil {
		return "", err
	}
	text, err := b.query.planner.engine.DeserializeSQL(ctx, tree)
	if err != nil {
		return "", fmt.Errorf("write expression: %w", err)
	}
	return strings.TrimPrefix(text, "SELECT "), nil
}

// restoreName gives a table its name back.
func (b *binder) restoreName(n node) {
	if n.kind() != "BASE_TABLE" {
		return
	}
	name, number := n.str("table_name"), -1
	if _, err := fmt.Sscanf(name, ctePrefix+"%d", &number); err == nil && number < len(b.query.ctes) {
		n["table_name"] = b.query.ctes[number]
		return
	}
	if _, err := fmt.Sscanf(name, generatedPrefix+"%d", &number); err == nil && number < len(b.query.refs) {
		r := b.query.refs[number]
		n["table_name"] = r.name.Parts[len(r.name.Parts)-1]
		if r.bare {
			n["alias"] = ""
		}
	}
}

// limitRows bounds the rows of the whole statement, in its order.
func limitRows(root node, limit int64) node {
	if limit <= 0 {
		return root
	}
	bound := newConstant(node{}, "BIGINT", limit)
	for _, e := range root.list("modifiers") {
		m := asNode(e)
		switch m.kind() {
		case "LIMIT_MODIFIER":
			if own := m.sub("limit"); own != nil {
				m["limit"] = map[string]any(newFunction(own, "least", own.clone(), bound))
			} else {
				m["limit"] = map[string]any(bound)
			}
			return root
		case "LIMIT_PERCENT_MODIFIER":
			return wrapLimit(root, bound)
		}
	}
	if root.sub("from_table").kind() == "SHOW_REF" {
		return wrapLimit(root, bound)
	}
	root["modifiers"] = append(root.list("modifiers"), map[string]any{
		"type": "LIMIT_MODIFIER", "limit": map[string]any(bound), "offset": nil,
	})
	return root
}

func wrapLimit(root, bound node) node {
	table := node{
		"type": "SUBQUERY", "alias": "answer", "sample": nil, "query_location": unknownPlace, "column_name_alias": []any{},
		"subquery": map[string]any{"node": map[string]any(root), "named_param_map": []any{}},
	}
	outer := newSelect(table, newStar())
	outer["modifiers"] = []any{map[string]any{"type": "LIMIT_MODIFIER", "limit": map[string]any(bound), "offset": nil}}
	return outer
}
