package otlp

import (
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/millstream/millstream/internal/fault"
)

// kind is the type of a field's value.
type kind uint8

const (
	kindMessage  kind = iota // value.raw is the message in its encoding
	kindAnyValue             // likewise
	kindText                 // value.raw is UTF-8, unchecked
	kindBytes                // value.raw is bytes; base64 in JSON
	kindID                   // value.raw is bytes; hexadecimal in JSON
	kindUint64               // fixed64 or, where the table says so, varint
	kindInt64                // sfixed64
	kindUint32
	kindInt32
	kindSint32
	kindEnum
	kindDouble
	kindBool
	kindIgnored // known to OTLP, not read here; the wire type is checked
)

// field describes a field of a message on both encodings.
type field struct {
	num   protowire.Number
	id    int // what a visitor is given; newMessage puts num where it is 0
	wire  protowire.Type
	kind  kind
	list  bool
	once  bool     // of a message: the visitor walks it once, to its end, so JSON need not look for the end before
	size  int      // of an ID in bytes; empty is allowed too
	of    *message // the message's table, where one may have to be checked without being read
	name  string
	snake string   // the name in the form that JSON parsers must accept too
	enum  []string // names of an enum's values, by number
}

// message is the table of a message's fields.
type message struct {
	fields []field
	byNum  [maxFieldNumber + 1]*field
}

const maxFieldNumber = 16

func newMessage(fields ...field) *message {
	m := &message{fields: fields}
	for i := range m.fields {
		f := &m.fields[i]
		f.snake = snakeCase(f.name)
		if f.id == 0 {
			f.id = int(f.num)
		}
		m.byNum[f.num] = f
	}
	return m
}

func (m *message) byNumber(n protowire.Number) *field {
	if n > maxFieldNumber {
		return nil
	}
	return m.byNum[n]
}

func (m *message) byID(id int) *field {
	for i := range m.fields {
		if m.fields[i].id == id {
			return &m.fields[i]
		}
	}
	return nil
}

func (m *message) byName(name []byte) *field {
	for i := range m.fields {
		if f := &m.fields[i]; f.name == string(name) || f.snake == string(name) {
			return f
		}
	}
	return nil
}

func snakeCase(camel string) string {
	out := make([]byte, 0, len(camel)+4)
	for i := range len(camel) {
		c := camel[i]
		if c >= 'A' && c <= 'Z' {
			out = append(out, '_')
			c += 'a' - 'A'
		}
		out = append(out, c)
	}
	return string(out)
}

// value is one value of a field; of a list, one element.
type value struct {
	num uint64 // integers in two's complement, the bits of a double, 0 or 1 for a bool
	raw []byte // text, bytes, or a message in its encoding, of field.once perhaps with what follows; valid during the call
}

// visitor takes the values of a message's fields in the order of the encoding. id is the field's.
type visitor func(id int, v value) error

// decodeError is a defect of a body, with the path of the field where it was met.
type decodeError struct {
	path   string
	reason string
}

func (e *decodeError) Error() string {
	if e.path == "" {
		return e.reason
	}
	return e.path + ": " + e.reason
}

func malformed(format string, args ...any) error {
	return &decodeError{reason: fmt.Sprintf(format, args...)}
}

// at puts a field, or an element of a list when index is not negative, in front of the path of a decodeError. Other errors stay, nil
// too.
func at(err error, name string, index int) error {
	if err == nil {
		return nil
	}
	d, ok := errors.AsType[*decodeError](err)
	if !ok {
		return err
	}
	if index >= 0 {
		name += "[" + strconv.Itoa(index) + "]"
	}
	switch {
	case d.path == "":
		d.path = name
	case len(d.path) < 1024: // paths of deep values are cut at the root's end
		d.path = name + "." + d.path
	}
	return d
}

// invalid turns a decodeError into the fault that clients get. Other errors stay.
func invalid(err error) error {
	if d, ok := errors.AsType[*decodeError](err); ok {
		return fault.New(fault.Invalid, "%s", d.Error())
	}
	return err
}
