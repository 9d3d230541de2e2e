package otlp

import (
	"encoding/base64"
	"math"
	"strconv"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire/jsonrow"
)

// nodeKind is the kind of an AnyValue.
type nodeKind uint8

const (
	nodeNull nodeKind = iota // an AnyValue without a value
	nodeString
	nodeBool
	nodeInt
	nodeDouble
	nodeBytes
	nodeArray
	nodeObject // kvlist
)

// node is an AnyValue, with its key when it stands in a list of KeyValues.
type node struct {
	kind  nodeKind
	first int32  // first child of an array or object, 0 = none
	next  int32  // next sibling, 0 = none
	num   uint64 // bool, int, bits of a double
	key   []byte
	text  []byte // string, bytes
}

// list is a chain of siblings; 0 = empty. It serves lists that are not a node's children.
type list struct{ first, last int32 }

// tree is the memory of nodes and of unescaped text. What was added after a mark is taken back at once by reset. Node 0 is never
// used. The text of a node may lie in the request's body or in the tree.
type tree struct {
	nodes []node
	text  []byte
	path  []byte // of the leaf that eachLeaf is at
	left  int    // bytes behind the JSON message read last
}

// mark is a place in a tree to go back to.
type mark struct{ nodes, text int }

func newTree() *tree { return &tree{nodes: make([]node, 1, 64)} }

func (t *tree) mark() mark { return mark{len(t.nodes), len(t.text)} }

func (t *tree) reset(m mark) { t.nodes, t.text = t.nodes[:m.nodes], t.text[:m.text] }

// add adds a null node behind sibling last, or as the first child of parent when last is 0. Parent 0 is nobody.
func (t *tree) add(parent, last int32, key []byte) int32 {
	n := int32(len(t.nodes))
	t.nodes = append(t.nodes, node{key: key})
	switch {
	case last != 0:
		t.nodes[last].next = n
	case parent != 0:
		t.nodes[parent].first = n
	}
	return n
}

// push adds a null node to the end of l.
func (t *tree) push(l *list, key []byte) int32 {
	n := t.add(0, l.last, key)
	if l.first == 0 {
		l.first = n
	}
	l.last = n
	return n
}

// keep copies text into the tree. Growth leaves earlier copies where they are.
func (t *tree) keep(text ...[]byte) []byte {
	start := len(t.text)
	for _, s := range text {
		t.text = append(t.text, s...)
	}
	return t.text[start:len(t.text):len(t.text)]
}

// eachLeaf calls f for the attributes in the chain that begins at first: first those that are no list of key-values (an empty one
// is a value), then the leaves of the lists under dotted names. So of two that share a name the literal one comes first. name holds
// during the call.
func (t *tree) eachLeaf(first int32, f func(name []byte, n int32)) {
	lists := false
	for n := first; n != 0; n = t.nodes[n].next {
		if t.isBranch(n) {
			lists = true
			continue
		}
		f(t.nodes[n].key, n)
	}
	for n := first; lists && n != 0; n = t.nodes[n].next {
		if t.isBranch(n) {
			t.path = append(t.path[:0], t.nodes[n].key...)
			t.leavesBelow(n, 1, f)
		}
	}
}

// leavesBelow calls f for the leaves below n, whose name is t.path and leads through depth keys. A list below
// jsonrow.MaxFlattenDepth, or under a name that is too long for a column, is a leaf: what flattening copies stays in proportion.
func (t *tree) leavesBelow(n int32, depth int, f func(name []byte, n int32)) {
	if depth >= jsonrow.MaxFlattenDepth || len(t.path) > jsonrow.MaxColumnNameBytes {
		f(t.path, n)
		return
	}
	length := len(t.path)
	for c := t.nodes[n].first; c != 0; c = t.nodes[c].next {
		t.path = append(append(t.path[:length], '.'), t.nodes[c].key...)
		if t.isBranch(c) {
			t.leavesBelow(c, depth+1, f)
			continue
		}
		f(t.path, c)
	}
	t.path = t.path[:length]
}

func (t *tree) isBranch(n int32) bool { return t.nodes[n].kind == nodeObject && t.nodes[n].first != 0 }

// appendJSON appends the value of n as JSON: bytes as base64, doubles that JSON has no number for as the strings NaN, +Inf, -Inf.
func (t *tree) appendJSON(dst []byte, n int32) []byte {
	x := &t.nodes[n]
	switch x.kind {
	case nodeString:
		return signal.AppendJSONString(dst, x.text)
	case nodeBool:
		return strconv.AppendBool(dst, x.num != 0)
	case nodeInt:
		return strconv.AppendInt(dst, int64(x.num), 10)
	case nodeDouble:
		return appendJSONDouble(dst, math.Float64frombits(x.num))
	case nodeBytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, x.text)
		return append(dst, '"')
	case nodeArray:
		dst = append(dst, '[')
		for c := x.first; c != 0; c = t.nodes[c].next {
			if c != x.first {
				dst = append(dst, ',')
			}
			dst = t.appendJSON(dst, c)
		}
		return append(dst, ']')
	case nodeObject:
		return t.appendJSONObject(dst, x.first)
	default:
		return append(dst, "null"...)
	}
}

// appendJSONObject appends the chain of nodes that begins at first as a JSON object. Equal keys stay, in their order.
func (t *tree) appendJSONObject(dst []byte, first int32) []byte {
	dst = append(dst, '{')
	for c := first; c != 0; c = t.nodes[c].next {
		if c != first {
			dst = append(dst, ',')
		}
		dst = signal.AppendJSONString(dst, t.nodes[c].key)
		dst = append(dst, ':')
		dst = t.appendJSON(dst, c)
	}
	return append(dst, '}')
}

// appendText appends the value of n as a label's text: a string as it is, anything else as JSON without quotes around it.
func (t *tree) appendText(dst []byte, n int32) []byte {
	switch x := &t.nodes[n]; x.kind {
	case nodeNull:
		return dst
	case nodeString:
		return append(dst, x.text...)
	case nodeBytes:
		return base64.StdEncoding.AppendEncode(dst, x.text)
	case nodeDouble:
		return appendDouble(dst, math.Float64frombits(x.num))
	default:
		return t.appendJSON(dst, n)
	}
}

// appendDouble appends the shortest decimal that reads back as f, NaN, +Inf or -Inf.
func appendDouble(dst []byte, f float64) []byte {
	form := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	return strconv.AppendFloat(dst, f, form, -1, 64)
}

func appendJSONDouble(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		dst = append(dst, '"')
		dst = appendDouble(dst, f)
		return append(dst, '"')
	}
	return appendDouble(dst, f)
}
