package otlp

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire/jsonrow"
)

// Prefixes of columns.
const (
	resourcePrefix   = "resource."
	scopePrefix      = "scope."
	attributesPrefix = "attributes." // of an attribute whose own name is taken in its row
)

// row writes the columns of the open row of a builder. Columns that OTLP defines come first, then those of resource and scope,
// then the record's attributes.
type row struct {
	b          *signal.Builder
	t          *tree
	maxColumns int
	defined    func(name []byte) bool // whether a name is a column that OTLP defines for this signal
	text       []byte
	overflow   []byte         // the open row's overflow as JSON, without the closing brace
	spilled    map[string]int // names in overflow, with the number that the last of that name got
}

func (w *row) begin() {
	w.b.BeginRow()
	w.overflow = w.overflow[:0]
}

// end closes the row.
func (w *row) end(nanos int64) {
	if len(w.overflow) > 0 {
		w.b.SetJSON(w.b.OwnColumn(signal.OverflowColumn), append(w.overflow, '}'))
	}
	w.b.EndRow(nanos)
}

// Columns that OTLP defines are never beyond the cap.

func (w *row) setText(name string, v []byte) {
	if len(v) > 0 {
		w.b.SetString(w.b.OwnColumn(name), v)
	}
}

func (w *row) setID(name string, id []byte) {
	if !isZero(id) {
		w.text = appendHex(w.text[:0], id)
		w.b.SetString(w.b.OwnColumn(name), w.text)
	}
}

// setEnum writes the name of an enum's value, or its number when it has none.
func (w *row) setEnum(name string, n int32, names ...string) {
	if n >= 0 && int(n) < len(names) {
		w.text = append(w.text[:0], names[n]...)
	} else {
		w.text = strconv.AppendInt(w.text[:0], int64(n), 10)
	}
	w.setText(name, w.text)
}

func (w *row) setJSON(name string, v []byte) {
	if len(v) > 0 {
		w.b.SetJSON(w.b.OwnColumn(name), v)
	}
}

func (w *row) setCount(name string, v uint64) {
	if v != 0 {
		w.b.SetInt64(w.b.OwnColumn(name), int64(v))
	}
}

// setValue writes an AnyValue that OTLP defines a column for: scalars as they are, bytes as base64, the rest as JSON.
func (w *row) setValue(name string, n int32) {
	if n != 0 && w.t.nodes[n].kind != nodeNull {
		w.set(w.b.OwnColumn(name), n)
	}
}

// constants writes fields whose names are known to be distinct.
func (w *row) constants(fields []constant) {
	for i := range fields {
		c := &fields[i]
		if c.overflow {
			w.spill(c.name, c.node)
			continue
		}
		w.put(c.name, c.node)
	}
}

// attributes writes a record's attributes.
func (w *row) attributes(first int32) { w.t.eachLeaf(first, w.attribute) }

// attribute writes one attribute under its name. When the name is taken in this row, by a column that OTLP defines the attribute
// goes to attributesPrefix + name, by another attribute it goes to the overflow.
func (w *row) attribute(name []byte, n int32) {
	if w.t.nodes[n].kind == nodeNull {
		return
	}
	r, ok := w.column(name)
	if ok && w.b.IsSet(r) {
		ok = false
		if w.defined(name) || bytes.HasPrefix(name, []byte(resourcePrefix)) || bytes.HasPrefix(name, []byte(scopePrefix)) {
			w.text = append(append(w.text[:0], attributesPrefix...), name...)
			r, ok = w.column(w.text)
			ok = ok && !w.b.IsSet(r)
		}
	}
	if !ok {
		w.spill(name, n)
		return
	}
	w.set(r, n)
}

// put writes a value whose column is free unless the cap forbids the column.
func (w *row) put(name []byte, n int32) {
	if r, ok := w.column(name); ok && !w.b.IsSet(r) {
		w.set(r, n)
		return
	}
	w.spill(name, n)
}

// column returns the column of a user's name. It is false when the name can have none: it is empty, too long or holds a NUL, or
// the column would be beyond the cap.
func (w *row) column(name []byte) (signal.Ref, bool) {
	if r, ok := w.b.Find(name); ok {
		return r, true
	}
	if w.b.Columns() >= w.maxColumns || len(name) == 0 || len(name) > jsonrow.MaxColumnNameBytes || bytes.IndexByte(name, 0) >= 0 {
		return 0, false
	}
	return w.b.Column(name), true
}

// spill keeps a value that has no column in the row's overflow. Of equal names the second gets "__2" behind it, and so on.
func (w *row) spill(name []byte, n int32) {
	separator := byte(',')
	if len(w.overflow) == 0 {
		separator = '{'
		clear(w.spilled)
	}
	w.overflow = append(w.overflow, separator)
	w.overflow = signal.AppendJSONString(w.overflow, w.unique(name))
	w.overflow = append(w.overflow, ':')
	w.overflow = w.t.appendJSON(w.overflow, n)
}

func (w *row) unique(name []byte) []byte {
	if w.spilled == nil {
		w.spilled = make(map[string]int)
	}
	unique := string(name)
	for w.spilled[unique] > 0 {
		w.spilled[string(name)]++
		unique = string(name) + "__" + strconv.Itoa(w.spilled[string(name)])
	}
	w.spilled[unique] = 1
	return []byte(unique)
}

func (w *row) set(r signal.Ref, n int32) {
	switch x := &w.t.nodes[n]; x.kind {
	case nodeNull:
	case nodeString:
		w.b.SetString(r, x.text)
	case nodeBool:
		w.b.SetBool(r, x.num != 0)
	case nodeInt:
		w.b.SetInt64(r, int64(x.num))
	case nodeDouble:
		w.b.SetFloat64(r, math.Float64frombits(x.num))
	case nodeBytes:
		w.text = base64.StdEncoding.AppendEncode(w.text[:0], x.text)
		w.b.SetString(r, w.text)
	default:
		w.text = w.t.appendJSON(w.text[:0], n)
		w.b.SetJSON(r, w.text)
	}
}

func isZero(id []byte) bool {
	for _, c := range id {
		if c != 0 {
			return false
		}
	}
	return true
}

func appendHex(dst, src []byte) []byte {
	const digits = "0123456789abcdef"
	for _, c := range src {
		dst = append(dst, digits[c>>4], digits[c&15])
	}
	return dst
}
