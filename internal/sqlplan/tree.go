package sqlplan

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/millstream/millstream/internal/fault"
)

// node is a JSON object of the engine's syntax tree. It is rewritten in place and goes back to the engine with every field that it came
// with.
type node map[string]any

// asNode returns v as a node, nil for anything else.
func asNode(v any) node {
	m, _ := v.(map[string]any)
	return m
}

// str returns a text field, "" if it is none.
func (n node) str(key string) string {
	s, _ := n[key].(string)
	return s
}

func (n node) sub(key string) node { return asNode(n[key]) }

// list returns an array field.
func (n node) list(key string) []any {
	l, _ := n[key].([]any)
	return l
}

func (n node) texts(key string) []string {
	var out []string
	for _, v := range n.list(key) {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

func (n node) flag(key string) bool {
	b, _ := n[key].(bool)
	return b
}

// class and kind are what distinguishes nodes: expressions have both.
func (n node) class() string { return n.str("class") }
func (n node) kind() string  { return n.str("type") }

// offset returns the node's place in the text, -1 if the engine gives none.
func (n node) offset() int {
	num, ok := n["query_location"].(json.Number)
	if !ok {
		return -1
	}
	i, err := num.Int64()
	if err != nil || i < 0 || i > math.MaxInt32 {
		return -1
	}
	return int(i)
}

// replace makes n what m is.
func (n node) replace(m node) {
	clear(n)
	maps.Copy(n, m)
}

// clone returns a deep copy.
func (n node) clone() node { return cloneValue(map[string]any(n)).(map[string]any) }

func cloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = cloneValue(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cloneValue(e)
		}
		return out
	default:
		return v
	}
}

// decodeTree reads the engine's tree and returns its only statement's node.
func decodeTree(data []byte) (root node, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var doc map[string]any
	if err := dec.Decode(&doc); err != nil {
		if bytes.Contains(data, []byte("Infinity")) { // the engine's form of a number that is too large, which is no JSON
			return nil, fault.Wrap(fault.Invalid, err, "the statement contains a number that is out of range")
		}
		return nil, fault.Wrap(fault.Internal, err, "read syntax tree")
	}
	statements := node(doc).list("statements")
	if len(statements) != 1 {
		if len(statements) == 0 {
			return nil, fault.New(fault.Invalid, "the statement is empty")
		}
		return nil, fault.New(fault.Invalid, "one statement at a time")
	}
	return asNode(statements[0]).sub("node"), nil
}

// encodeTree is the way back.
func encodeTree(root node) ([]byte, error) {
	doc := map[string]any{
		"error":      false,
		"statements": []any{map[string]any{"node": map[string]any(root), "named_param_map": []any{}}},
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "write syntax tree")
	}
	return data, nil
}

// unknownPlace is the engine's query_location of a node that has none.
const unknownPlace = json.Number("18446744073709551615")

func placeOf(n node) json.Number {
	if num, ok := n["query_location"].(json.Number); ok {
		return num
	}
	return unknownPlace
}

func exprs(list ...node) []any {
	out := make([]any, len(list))
	for i, n := range list {
		out[i] = map[string]any(n)
	}
	return out
}

// The following make expressions that stand where from stands.

func newColumn(from node, parts ...string) node {
	names := make([]any, len(parts))
	for i, p := range parts {
		names[i] = p
	}
	return node{"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "query_location": placeOf(from), "column_names": names}
}

func newText(from node, s string) node {
	return newConstant(from, "VARCHAR", s)
}

func newConstant(from node, typ string, value any) node {
	return node{
		"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", "query_location": placeOf(from),
		"value": map[string]any{"type": map[string]any{"id": typ, "type_info": nil}, "is_null": false, "value": value},
	}
}

func newFunction(from node, name string, args ...node) node {
	return node{
		"class": "FUNCTION", "type": "FUNCTION", "alias": "", "query_location": placeOf(from), "function_name": name,
		"schema": "", "catalog": "", "children": exprs(args...), "filter": nil, "distinct": false, "is_operator": false, "export_state": false,
		"order_bys": map[string]any{"type": "ORDER_MODIFIER", "orders": []any{}},
	}
}

func newCast(child node, typ string, try bool) node {
	return node{
		"class": "CAST", "type": "OPERATOR_CAST", "alias": "", "query_location": placeOf(child), "child": map[string]any(child),
		"cast_type": map[string]any{"id": typ, "type_info": nil}, "try_cast": try,
	}
}

func newConjunction(from node, kind string, children ...node) node {
	return node{"class": "CONJUNCTION", "type": kind, "alias": "", "query_location": placeOf(from), "children": exprs(children...)}
}

// newSelect returns SELECT items FROM table.
func newSelect(table node, items ...node) node {
	return node{
		"type": "SELECT_NODE", "modifiers": []any{}, "cte_map": map[string]any{"map": []any{}}, "select_list": exprs(items...),
		"from_table": map[string]any(table), "where_clause": nil, "group_expressions": []any{}, "group_sets": []any{},
		"aggregate_handling": "STANDARD_HANDLING", "having": nil, "sample": nil, "qualify": nil,
	}
}

func newEmptyTable() node {
	return node{"type": "EMPTY", "alias": "", "sample": nil, "query_location": unknownPlace}
}

func newStar() node {
	return node{
		"class": "STAR", "type": "STAR", "alias": "", "query_location": unknownPlace, "relation_name": "", "exclude_list": []any{},
		"replace_list": []any{}, "columns": false, "expr": nil, "qualified_exclude_list": []any{}, "rename_list": []any{},
	}
}

// constantValue returns the literal of a CONSTANT node: the type's name and the value as text. ok is false for NULL and for values that are
// no plain literal.
func constantValue(n node) (typ, text string, ok bool) {
	if n.class() != "CONSTANT" {
		return "", "", false
	}
	v := n.sub("value")
	typ = v.sub("type").str("id")
	if v.flag("is_null") {
		return typ, "", false
	}
	switch x := v["value"].(type) {
	case string:
		return typ, x, true
	case json.Number:
		return typ, x.String(), true
	case bool:
		return typ, strconv.FormatBool(x), true
	default:
		return typ, "", false
	}
}

// lowerEqual reports whether two names are the same to the engine, which ignores case.
func lowerEqual(a, b string) bool { return strings.EqualFold(a, b) }

// isSmall reports whether an expression has few nodes, so that it may stand in a plan several times.
func isSmall(e node) bool {
	const most = 40
	count := 0
	walk(e, func(node) bool {
		count++
		return count <= most
	})
	return count <= most
}

// sameTree reports whether two trees are the same but for places and remembered originals.
func sameTree(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return false
		}
		for key := range x {
			if key != originalKey && key != "query_location" && !sameTree(x[key], y[key]) {
				return false
			}
		}
		for key, e := range y {
			if _, ok := x[key]; !ok && key != originalKey && key != "query_location" && e != nil {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !sameTree(x[i], y[i]) {
				return false
			}
		}
		return true
	default:
		return a == b
	}
}
