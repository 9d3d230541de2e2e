package parquetfile

import "encoding/binary"

// thriftReader reads values in Thrift's compact protocol. After a fault it answers zeros; failed tells of it.
type thriftReader struct {
	buf    []byte
	pos    int
	failed bool
}

// maxThriftDepth is how deep structures may lie within each other; those of the format lie seven deep.
const maxThriftDepth = 16

func (t *thriftReader) fail() {
	t.failed = true
	t.pos = len(t.buf)
}

func (t *thriftReader) byte() byte {
	if t.pos >= len(t.buf) {
		t.fail()
		return 0
	}
	b := t.buf[t.pos]
	t.pos++
	return b
}

func (t *thriftReader) uvarint() uint64 {
	if t.pos < len(t.buf) && t.buf[t.pos] < 0x80 { // most are short
		t.pos++
		return uint64(t.buf[t.pos-1])
	}
	v, n := binary.Uvarint(t.buf[t.pos:])
	if n <= 0 {
		t.fail()
		return 0
	}
	t.pos += n
	return v
}

// int reads an integer of any width.
func (t *thriftReader) int() int64 {
	v := t.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// int32 reads an integer that must fit 32 bits.
func (t *thriftReader) int32() int32 {
	v := t.int()
	if v != int64(int32(v)) {
		t.fail()
		return 0
	}
	return int32(v)
}

// bytes reads a text. It points into the buffer.
func (t *thriftReader) bytes() []byte {
	n := t.uvarint()
	if n > uint64(len(t.buf)-t.pos) {
		t.fail()
		return nil
	}
	b := t.buf[t.pos : t.pos+int(n)]
	t.pos += int(n)
	return b
}

// next reads the header of a struct's next field. It is not ok after the last. The id is that of the field before when it begins.
func (t *thriftReader) next(id *int16) (typ byte, ok bool) {
	b := t.byte()
	if typ = b & 0x0f; b == 0 || t.failed {
		return 0, false
	}
	if d := b >> 4; d != 0 {
		*id += int16(d)
	} else {
		*id = int16(t.int32())
	}
	return typ, true
}

// list reads the header of a list. Every element takes a byte at least, so a count beyond the buffer is a fault.
func (t *thriftReader) list() (typ byte, n int) {
	b := t.byte()
	count := uint64(b >> 4)
	if count == 15 {
		count = t.uvarint()
	}
	if count > uint64(len(t.buf)-t.pos) {
		t.fail()
		return 0, 0
	}
	return b & 0x0f, int(count)
}

// structs calls element for every element of a list of structs.
func (t *thriftReader) structs(element func(i, n int)) {
	typ, n := t.list()
	if n > 0 && typ != thriftStruct {
		t.fail()
		return
	}
	for i := range n {
		if t.failed {
			return
		}
		element(i, n)
	}
}

// skip passes over a field's value.
func (t *thriftReader) skip(typ byte) { t.skipDeep(typ, 0) }

func (t *thriftReader) skipDeep(typ byte, depth int) {
	if depth > maxThriftDepth {
		t.fail()
		return
	}
	switch typ {
	case thriftTrue, thriftFalse:
	case thriftI8:
		t.byte()
	case thriftI16, thriftI32, thriftI64:
		t.uvarint()
	case thriftBinary:
		t.bytes()
	case thriftList:
		element, n := t.list()
		for i := 0; i < n && !t.failed; i++ {
			if element == thriftTrue || element == thriftFalse {
				t.byte() // a truth value in a list takes a byte
			} else {
				t.skipDeep(element, depth+1)
			}
		}
	case thriftStruct:
		for id := int16(0); ; {
			inner, ok := t.next(&id)
			if !ok {
				return
			}
			t.skipDeep(inner, depth+1)
		}
	default:
		t.fail()
	}
}
