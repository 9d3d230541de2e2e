package promwrite

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/millstream/millstream/internal/fault"
)

// field is one field of a message: num of a varint or a fixed-width value, raw of a length-delimited one.
type field struct {
	id  int32
	typ protowire.Type
	num uint64
	raw []byte
}

// double puts the value of a double into dst.
func (f *field) double(dst *float64) error {
	*dst = math.Float64frombits(f.num)
	return f.want(protowire.Fixed64Type)
}

// varint puts the value of an int64 or uint64 into dst.
func (f *field) varint(dst *int64) error {
	*dst = int64(f.num)
	return f.want(protowire.VarintType)
}

// unsigned puts the value of a uint64 or an enum into dst.
func (f *field) unsigned(dst *uint64) error {
	*dst = f.num
	return f.want(protowire.VarintType)
}

// bytes puts the value of a string or message into dst.
func (f *field) bytes(dst *[]byte) error {
	*dst = f.raw
	return f.want(protowire.BytesType)
}

// each calls visit with the fields of a message, in order. Fields go by value, which keeps them off the heap.
func each(message []byte, visit func(f field) error) error {
	for len(message) > 0 {
		f, rest, err := next(message)
		if err != nil {
			return err
		}
		if err := visit(f); err != nil {
			return err
		}
		message = rest
	}
	return nil
}

// eachOf calls visit with the length-delimited fields of one number.
func eachOf(message []byte, id int32, visit func(f field) error) error {
	return each(message, func(f field) error {
		if f.id != id {
			return nil
		}
		if err := f.want(protowire.BytesType); err != nil {
			return err
		}
		return visit(f)
	})
}

// next takes the first field off a message. Groups, which no message has, are refused.
func next(message []byte) (f field, rest []byte, err error) {
	id, typ, n := protowire.ConsumeTag(message)
	if n < 0 {
		return f, nil, broken(n)
	}
	f.id, f.typ = int32(id), typ
	message = message[n:]
	switch typ {
	case protowire.VarintType:
		f.num, n = protowire.ConsumeVarint(message)
	case protowire.Fixed64Type:
		f.num, n = protowire.ConsumeFixed64(message)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(message)
		f.num = uint64(v)
	case protowire.BytesType:
		f.raw, n = protowire.ConsumeBytes(message)
	default:
		return f, nil, fault.New(fault.Invalid, "the write request is no protobuf: field %d has the wire type %d", id, typ)
	}
	if n < 0 {
		return f, nil, broken(n)
	}
	return f, message[n:], nil
}

func broken(n int) error {
	return fault.Wrap(fault.Invalid, protowire.ParseError(n), "the write request is no protobuf")
}

// want refuses a known field of another wire type.
func (f *field) want(typ protowire.Type) error {
	if f.typ != typ {
		return fault.New(fault.Invalid, "the write request is of another form: field %d has the wire type %d instead of %d", f.id, f.typ, typ)
	}
	return nil
}

// appendFloats appends the values of a repeated double, packed or not.
func (f *field) appendFloats(dst []float64) ([]float64, error) {
	if f.typ == protowire.Fixed64Type {
		return append(dst, math.Float64frombits(f.num)), nil
	}
	if err := f.want(protowire.BytesType); err != nil {
		return dst, err
	}
	if len(f.raw)%8 != 0 {
		return dst, fault.New(fault.Invalid, "the write request is no protobuf: %d bytes of doubles", len(f.raw))
	}
	for b := f.raw; len(b) > 0; b = b[8:] {
		dst = append(dst, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return dst, nil
}

// appendVarints appends the values of a repeated varint, packed or not.
func (f *field) appendVarints(dst []uint64) ([]uint64, error) {
	if f.typ == protowire.VarintType {
		return append(dst, f.num), nil
	}
	if err := f.want(protowire.BytesType); err != nil {
		return dst, err
	}
	for b := f.raw; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return dst, broken(n)
		}
		dst, b = append(dst, v), b[n:]
	}
	return dst, nil
}
