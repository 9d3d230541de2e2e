package otlp

import (
	"encoding/base64"
	"math"

	"github.com/millstream/millstream/internal/wire/jsontext"
)

// maxJSONDepth bounds how deep objects and arrays nest. It is above what maxDepth allows inside values, since keys that are not
// known may nest too.
const maxJSONDepth = 256

// checkJSONRequest checks that body is one JSON object, and that it is a request of this kind: an object whose keys are all
// unknown is another signal's or no OTLP at all, and would be lost without a word.
func checkJSONRequest(m *message, body []byte) error {
	var s jsontext.Scanner
	s.Reset(body)
	err := checkJSON(&s, 0)
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return malformed("invalid JSON: %v", err)
	}
	c := cursor{s: body}
	if c.next() != '{' {
		return malformed("the body is no JSON object")
	}
	var unknown []byte
	for more := c.enter(); more; more = c.more() {
		k := c.key()
		if m.byName(k) != nil {
			return nil
		}
		unknown = k
		c.value()
	}
	if unknown != nil {
		return malformed("the body has no %s, but %.64q", m.fields[0].name, unknown)
	}
	return nil
}

func checkJSON(s *jsontext.Scanner, depth int) error {
	if depth > maxJSONDepth {
		return s.Fail("values are nested too deep")
	}
	switch s.Next() {
	case '{':
		return s.Object(func([]byte) error { return checkJSON(s, depth+1) })
	case '[':
		return s.Array(func() error { return checkJSON(s, depth+1) })
	default:
		var v jsontext.Value
		return s.Value(&v, depth)
	}
}

// eachJSON visits the fields of a message in JSON. Keys may be in the form of OTLP/JSON or of the .proto file; unknown keys and
// fields that are null are skipped. raw may go on behind the message; t.left becomes the length of what does.
func (t *tree) eachJSON(m *message, raw []byte, visit visitor) error {
	c := cursor{s: raw}
	switch c.next() {
	case '{':
	case 'n':
		c.scalar()
		t.left = len(raw) - c.i
		return nil
	default:
		return malformed("is no object")
	}
	for more := c.enter(); more; more = c.more() {
		f := m.byName(t.unescape(c.key()))
		if f == nil || f.kind == kindIgnored || c.next() == 'n' {
			c.value()
			continue
		}
		if err := t.jsonField(f, &c, visit); err != nil {
			return err
		}
	}
	t.left = len(raw) - c.i
	return nil
}

func (t *tree) jsonField(f *field, c *cursor, visit visitor) error {
	if !f.list {
		return at(t.jsonElement(f, c, visit), f.name, -1)
	}
	if c.next() != '[' {
		return at(malformed("is no array"), f.name, -1)
	}
	i := 0
	for more := c.enter(); more; more = c.more() {
		if err := t.jsonElement(f, c, visit); err != nil {
			return at(err, f.name, i)
		}
		i++
	}
	return nil
}

// jsonElement takes one value of a field and visits it.
func (t *tree) jsonElement(f *field, c *cursor, visit visitor) error {
	if !f.once {
		v, err := t.jsonValue(f, c)
		if err != nil {
			return err
		}
		return visit(f.id, v)
	}
	c.next()
	t.left = -1
	if err := visit(f.id, value{raw: c.s[c.i:]}); err != nil {
		return err
	}
	if t.left < 0 {
		c.value() // the visitor had no use for it
		return nil
	}
	c.i = len(c.s) - t.left
	return nil
}

// jsonValue takes the value of a field.
func (t *tree) jsonValue(f *field, c *cursor) (v value, err error) {
	switch f.kind {
	case kindMessage, kindAnyValue:
		v.raw = c.value()
		return v, nil
	case kindText, kindBytes, kindID:
		return t.jsonBytes(f, c)
	case kindBool:
		return jsonBool(c.value())
	default:
		return t.jsonNumber(f, c)
	}
}

// jsonNumber takes a number or an enum, which may stand in quotes.
func (t *tree) jsonNumber(f *field, c *cursor) (v value, err error) {
	token := c.value()
	quoted := token[0] == '"'
	if quoted {
		token = t.unescape(token[1 : len(token)-1])
	}
	var ok bool
	switch f.kind {
	case kindUint64:
		v.num, ok = parseUint(token)
	case kindUint32:
		v.num, ok = parseUint(token)
		ok = ok && v.num <= math.MaxUint32
	case kindInt64:
		v.num, ok = parseInt(token, math.MinInt64, math.MaxInt64)
	case kindInt32, kindSint32:
		v.num, ok = parseInt(token, math.MinInt32, math.MaxInt32)
	case kindEnum:
		v.num, ok = parseEnum(f.enum, token)
	case kindDouble:
		v.num, ok = parseDouble(token, quoted)
	default:
	}
	if !ok {
		return v, malformed("%.64q is no %s", token, kindName(f.kind))
	}
	return v, nil
}

func kindName(k kind) string {
	switch k {
	case kindUint64, kindUint32:
		return "unsigned integer of its size"
	case kindEnum:
		return "number or name of the enum"
	case kindDouble:
		return "number"
	default:
		return "integer of its size"
	}
}

func jsonBool(token []byte) (value, error) {
	switch string(token) {
	case "true":
		return value{num: 1}, nil
	case "false":
		return value{}, nil
	default:
		return value{}, malformed("%.64q is no bool", token)
	}
}

// jsonBytes takes a text, or bytes in the form of their kind.
func (t *tree) jsonBytes(f *field, c *cursor) (v value, err error) {
	if c.next() != '"' {
		return v, malformed("%.64q is no string", c.value())
	}
	v.raw = t.unescape(c.quoted())
	switch f.kind {
	case kindID:
		v.raw, err = t.hexID(v.raw, f.size)
	case kindBytes:
		v.raw, err = t.base64(v.raw)
	default:
	}
	return v, err
}

// hexID reads an id of size bytes from hexadecimal of either case; empty is an empty id.
func (t *tree) hexID(s []byte, size int) ([]byte, error) {
	if len(s) != 0 && len(s) != 2*size {
		return nil, malformed("%.64q is no id of %d hexadecimal digits", s, 2*size)
	}
	start := len(t.text)
	for i := 0; i < len(s); i += 2 {
		high, ok := hexDigit(s[i])
		low, ok2 := hexDigit(s[i+1])
		if !ok || !ok2 {
			return nil, malformed("%.64q is no id of %d hexadecimal digits", s, 2*size)
		}
		t.text = append(t.text, high<<4|low)
	}
	return t.text[start:len(t.text):len(t.text)], nil
}

// base64 reads either alphabet of base64, with or without padding.
func (t *tree) base64(s []byte) ([]byte, error) {
	plain := make([]byte, 0, len(s))
	for _, c := range s {
		switch c {
		case '-':
			c = '+'
		case '_':
			c = '/'
		case '=', '\r', '\n':
			continue
		}
		plain = append(plain, c)
	}
	start := len(t.text)
	text, err := base64.RawStdEncoding.AppendDecode(t.text, plain)
	if err != nil {
		return nil, malformed("%.64q is no base64", s)
	}
	t.text = text
	return t.text[start:len(t.text):len(t.text)], nil
}

// jsonAnyValue reads an AnyValue into node n.
func (t *tree) jsonAnyValue(n int32, raw []byte, depth int) error {
	if depth > maxDepth {
		return malformed("nests too deep")
	}
	return t.eachJSON(anyValueMessage, raw, func(id int, v value) error {
		switch id {
		case anyArray:
			t.setNode(n, id, value{})
			return t.jsonList(arrayMessage, n, v.raw, depth+1)
		case anyKvlist:
			t.setNode(n, id, value{})
			return t.jsonList(kvlistMessage, n, v.raw, depth+1)
		default:
			t.setNode(n, id, v)
			return nil
		}
	})
}

// jsonList reads the values of an ArrayValue or KeyValueList as the children of parent.
func (t *tree) jsonList(m *message, parent int32, raw []byte, depth int) error {
	last := int32(0)
	return t.eachJSON(m, raw, func(_ int, v value) error {
		last = t.add(parent, last, nil)
		if m == kvlistMessage {
			return t.jsonKeyValue(last, v.raw, depth+1)
		}
		return t.jsonAnyValue(last, v.raw, depth+1)
	})
}

// jsonKeyValue reads a KeyValue into node n.
func (t *tree) jsonKeyValue(n int32, raw []byte, depth int) error {
	return t.eachJSON(keyValueMessage, raw, func(id int, v value) error {
		if id == keyValueKey {
			t.nodes[n].key = v.raw
			return nil
		}
		return t.jsonAnyValue(n, v.raw, depth+1)
	})
}
