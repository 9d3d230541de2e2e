package otlp

import (
	"math"
	"strconv"

	"github.com/millstream/millstream/internal/signal"
)

// jsonArray builds an array of objects as JSON text. Its memory is used again after reset.
type jsonArray struct{ buf []byte }

func (a *jsonArray) reset() { a.buf = a.buf[:0] }

// text returns the array, or nil when it is empty.
func (a *jsonArray) text() []byte {
	if len(a.buf) == 0 {
		return nil
	}
	return append(a.buf, ']')
}

// begin opens the next object.
func (a *jsonArray) begin() jsonObject {
	separator := byte(',')
	if len(a.buf) == 0 {
		separator = '['
	}
	a.buf = append(a.buf, separator, '{')
	return jsonObject{&a.buf}
}

// jsonObject appends members to a buffer that ends with the object's opening brace. Members of the zero value are left out, as in
// the JSON form of protobuf; 64-bit integers and times are strings, so that no reader rounds them.
type jsonObject struct{ buf *[]byte }

func (o jsonObject) end() { *o.buf = append(*o.buf, '}') }

func (o jsonObject) name(name string) []byte {
	b := *o.buf
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

func (o jsonObject) string(name string, v []byte) {
	if len(v) > 0 {
		*o.buf = signal.AppendJSONString(o.name(name), v)
	}
}

func (o jsonObject) id(name string, id []byte) {
	if !isZero(id) {
		*o.buf = append(appendHex(append(o.name(name), '"'), id), '"')
	}
}

// nanos writes a time in nanoseconds, or another count of 64 bits.
func (o jsonObject) nanos(name string, v uint64) {
	if v != 0 {
		*o.buf = append(strconv.AppendUint(append(o.name(name), '"'), v, 10), '"')
	}
}

// count writes a count of 32 bits.
func (o jsonObject) count(name string, v uint64) {
	if v != 0 {
		*o.buf = strconv.AppendUint(o.name(name), v, 10)
	}
}

func (o jsonObject) uint(name string, v uint64) { *o.buf = strconv.AppendUint(o.name(name), v, 10) }

func (o jsonObject) int(name string, v int64) { *o.buf = strconv.AppendInt(o.name(name), v, 10) }

func (o jsonObject) double(name string, bits uint64) {
	*o.buf = appendJSONDouble(o.name(name), math.Float64frombits(bits))
}

func (o jsonObject) attributes(name string, t *tree, l list) {
	if l.first != 0 {
		*o.buf = t.appendJSONObject(o.name(name), l.first)
	}
}

func (o jsonObject) uints(name string, list []uint64) {
	b := o.name(name)
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, v, 10)
	}
	b = append(b, ']')
	*o.buf = b
}

func (o jsonObject) doubles(name string, list []uint64) {
	b := o.name(name)
	b = append(b, '[')
	for i, bits := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONDouble(b, math.Float64frombits(bits))
	}
	b = append(b, ']')
	*o.buf = b
}
