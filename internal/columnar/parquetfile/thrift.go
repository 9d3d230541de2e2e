package parquetfile

import "encoding/binary"

// Types of Thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftI8     = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// thrift appends values in Thrift's compact protocol. Fields of a struct are written in ascending order of their ids.
type thrift struct {
	buf   []byte
	last  int16
	outer []int16 // last of the enclosing structs
}

func (t *thrift) header(id int16, typ byte) {
	if d := id - t.last; d > 0 && d < 16 {
		t.buf = append(t.buf, byte(d)<<4|typ)
	} else {
		t.buf = append(t.buf, typ)
		t.buf = binary.AppendVarint(t.buf, int64(id))
	}
	t.last = id
}

func (t *thrift) i8(id int16, v int8) {
	t.header(id, thriftI8)
	t.buf = append(t.buf, byte(v))
}

func (t *thrift) i16(id, v int16) {
	t.header(id, thriftI16)
	t.buf = binary.AppendVarint(t.buf, int64(v))
}

func (t *thrift) i32(id int16, v int32) {
	t.header(id, thriftI32)
	t.buf = binary.AppendVarint(t.buf, int64(v))
}

func (t *thrift) i64(id int16, v int64) {
	t.header(id, thriftI64)
	t.buf = binary.AppendVarint(t.buf, v)
}

func (t *thrift) bool(id int16, v bool) {
	if v {
		t.header(id, thriftTrue)
	} else {
		t.header(id, thriftFalse)
	}
}

func (t *thrift) text(id int16, v string) {
	t.header(id, thriftBinary)
	t.element(v)
}

// element appends a string as a list's element.
func (t *thrift) element(v string) {
	t.buf = binary.AppendUvarint(t.buf, uint64(len(v)))
	t.buf = append(t.buf, v...)
}

// list opens a list of n elements, which the caller appends next.
func (t *thrift) list(id int16, typ byte, n int) {
	t.header(id, thriftList)
	if n < 15 {
		t.buf = append(t.buf, byte(n)<<4|typ)
		return
	}
	t.buf = append(t.buf, 0xf0|typ)
	t.buf = binary.AppendUvarint(t.buf, uint64(n))
}

// open begins a struct that is a field; begin one that is a list's element or the message itself.
func (t *thrift) open(id int16) {
	t.header(id, thriftStruct)
	t.begin()
}

func (t *thrift) begin() {
	t.outer = append(t.outer, t.last)
	t.last = 0
}

// end closes what open or begin began.
func (t *thrift) end() {
	t.buf = append(t.buf, 0)
	t.last = t.outer[len(t.outer)-1]
	t.outer = t.outer[:len(t.outer)-1]
}

// empty writes a struct without fields.
func (t *thrift) empty(id int16) {
	t.open(id)
	t.end()
}
