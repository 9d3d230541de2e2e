package otlp

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// maxDepth bounds how deep messages nest below an attribute's or a body's value: an array is two levels, a key-value list three.
const maxDepth = 64

// eachProto visits the fields of a protobuf message. Unknown fields are skipped; a known field of another wire type, and a group,
// which OTLP never had, are errors, so that a body of another kind is not taken for an empty one.
func eachProto(m *message, raw []byte, visit visitor) error {
	var counts [maxFieldNumber + 1]int32
	for len(raw) > 0 {
		num, typ, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return malformed("invalid protobuf: %v", protowire.ParseError(n))
		}
		raw = raw[n:]
		f := m.byNumber(num)
		if f == nil || f.kind == kindIgnored {
			n, err := skipProto(f, num, typ, raw)
			if err != nil {
				return err
			}
			raw = raw[n:]
			continue
		}
		index := -1
		if f.list {
			index = int(counts[num])
			counts[num]++
		}
		n, err := protoField(f, typ, raw, visit)
		if err != nil {
			return at(err, f.name, index)
		}
		raw = raw[n:]
	}
	return nil
}

func skipProto(f *field, num protowire.Number, typ protowire.Type, raw []byte) (int, error) {
	if typ == protowire.StartGroupType || typ == protowire.EndGroupType {
		return 0, malformed("invalid protobuf: field %d is a group", num)
	}
	if f != nil && f.wire != typ {
		return 0, at(wrongWire(typ), f.name, -1)
	}
	n := protowire.ConsumeFieldValue(num, typ, raw)
	if n < 0 {
		return 0, malformed("invalid protobuf: %v", protowire.ParseError(n))
	}
	return n, nil
}

func wrongWire(typ protowire.Type) error {
	return malformed("invalid protobuf: wire type %d does not fit", typ)
}

// protoField visits one occurrence of f, a whole packed list included, and returns its size.
func protoField(f *field, typ protowire.Type, raw []byte, visit visitor) (int, error) {
	if typ == protowire.BytesType && f.list && f.wire != protowire.BytesType {
		packed, n := protowire.ConsumeBytes(raw)
		if n < 0 {
			return 0, malformed("invalid protobuf: %v", protowire.ParseError(n))
		}
		for len(packed) > 0 {
			v, n, err := protoValue(f, packed)
			if err != nil {
				return 0, err
			}
			if err := visit(f.id, v); err != nil {
				return 0, err
			}
			packed = packed[n:]
		}
		return n, nil
	}
	if typ != f.wire {
		return 0, wrongWire(typ)
	}
	v, n, err := protoValue(f, raw)
	if err != nil {
		return 0, err
	}
	return n, visit(f.id, v)
}

func protoValue(f *field, raw []byte) (v value, n int, err error) {
	switch f.wire {
	case protowire.VarintType:
		v.num, n = protowire.ConsumeVarint(raw)
	case protowire.Fixed64Type:
		v.num, n = protowire.ConsumeFixed64(raw)
	case protowire.Fixed32Type:
		var u uint32
		u, n = protowire.ConsumeFixed32(raw)
		v.num = uint64(u)
	default:
		v.raw, n = protowire.ConsumeBytes(raw)
	}
	if n < 0 {
		return v, 0, malformed("invalid protobuf: %v", protowire.ParseError(n))
	}
	switch f.kind {
	case kindUint32:
		v.num = uint64(uint32(v.num))
	case kindInt32, kindEnum:
		v.num = uint64(int32(v.num))
	case kindSint32:
		v.num = uint64(int32(protowire.DecodeZigZag(v.num & 0xffffffff)))
	case kindBool:
		v.num = protowire.EncodeBool(v.num != 0)
	case kindID:
		if len(v.raw) != 0 && len(v.raw) != f.size {
			return v, 0, malformed("has %d bytes, %d are wanted", len(v.raw), f.size)
		}
	default:
	}
	return v, n, nil
}

// Fields of AnyValue and of its lists.
const (
	anyString = 1
	anyBool   = 2
	anyInt    = 3
	anyDouble = 4
	anyArray  = 5
	anyKvlist = 6
	anyBytes  = 7
	// anyStrindex points into a table that only profiles have. It is of the oneof all the same: after it the value is none.
	anyStrindex = 8

	keyValueKey   = 1
	keyValueValue = 2
	listValues    = 1
)

// protoAnyValue reads an AnyValue into node n.
func (t *tree) protoAnyValue(n int32, raw []byte, depth int) error {
	if depth > maxDepth {
		return malformed("nests too deep")
	}
	return eachProto(anyValueMessage, raw, func(id int, v value) error {
		switch id {
		case anyArray:
			t.setNode(n, id, value{})
			return t.protoList(arrayMessage, n, v.raw, depth+1)
		case anyKvlist:
			t.setNode(n, id, value{})
			return t.protoList(kvlistMessage, n, v.raw, depth+1)
		default:
			t.setNode(n, id, v)
			return nil
		}
	})
}

// setNode makes n a value of the field id of AnyValue; arrays and lists begin empty.
func (t *tree) setNode(n int32, id int, v value) {
	x := &t.nodes[n]
	x.first, x.num, x.text = 0, v.num, v.raw
	switch id {
	case anyString:
		x.kind = nodeString
	case anyBool:
		x.kind = nodeBool
	case anyInt:
		x.kind = nodeInt
	case anyDouble:
		x.kind = nodeDouble
	case anyArray:
		x.kind = nodeArray
	case anyKvlist:
		x.kind = nodeObject
	case anyBytes:
		x.kind = nodeBytes
	case anyStrindex:
		x.kind = nodeNull
	}
}

// checkProto checks a message that is not kept: every field of it, and of the messages in it, could be read.
func (t *tree) checkProto(m *message, raw []byte) error {
	if m == keyValueMessage {
		defer t.reset(t.mark())
		return t.protoKeyValue(t.add(0, 0, nil), raw, 0)
	}
	return eachProto(m, raw, func(id int, v value) error {
		if f := m.byID(id); f.of != nil {
			return t.checkProto(f.of, v.raw)
		}
		return nil
	})
}

// protoList reads the values of an ArrayValue or KeyValueList as the children of parent.
func (t *tree) protoList(m *message, parent int32, raw []byte, depth int) error {
	last := int32(0)
	return eachProto(m, raw, func(_ int, v value) error {
		last = t.add(parent, last, nil)
		if m == kvlistMessage {
			return t.protoKeyValue(last, v.raw, depth+1)
		}
		return t.protoAnyValue(last, v.raw, depth+1)
	})
}

// protoKeyValue reads a KeyValue into node n.
func (t *tree) protoKeyValue(n int32, raw []byte, depth int) error {
	return eachProto(keyValueMessage, raw, func(id int, v value) error {
		if id == keyValueKey {
			t.nodes[n].key = v.raw
			return nil
		}
		return t.protoAnyValue(n, v.raw, depth+1)
	})
}
