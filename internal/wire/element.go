package wire

import (
	"bytes"
	"errors"
	"io"

	"github.com/millstream/millstream/internal/fault"
)

// Element is one value of a body that is an array, or values behind each other. Only its extent is known: brackets and quotes
// balance, the text may still be no JSON.
type Element struct {
	Text    []byte // valid until the next call; nil when TooLong
	Size    int64
	TooLong bool // longer than the limit: Text was not kept
}

// Elements reads the values of a body one by one.
type Elements struct {
	b     *Body
	array bool
	count int // values returned
	done  bool
}

// Array returns the elements of the array whose bracket is the next byte of the body.
func (b *Body) Array() *Elements {
	b.pos++
	return &Elements{b: b, array: true}
}

// Values returns the values of a body that are parted by nothing but white space.
func (b *Body) Values() *Elements { return &Elements{b: b} }

// Next returns the next value, or io.EOF after the last, when nothing but white space is left of the body. Other errors are the
// body's, or Invalid when the array is not one.
func (e *Elements) Next() (Element, error) {
	if e.done {
		return Element{}, io.EOF
	}
	c, err := e.b.skipSpace()
	if errors.Is(err, io.EOF) && !e.array {
		return Element{}, io.EOF
	}
	if err != nil {
		return Element{}, e.broken(err)
	}
	switch {
	case e.array && c == ']' && e.count == 0:
		return Element{}, e.close()
	case e.array && (c == ']' || c == ','):
		return Element{}, fault.New(fault.Invalid, "the JSON array is broken: element %d is missing before %q", e.count, c)
	}
	element, err := e.b.value(c)
	if err != nil {
		return Element{}, e.broken(err)
	}
	e.count++
	return element, nil
}

// Finish takes what follows the value that Next returned last, whose text is not valid any more: a comma, or the end of the array.
func (e *Elements) Finish() error {
	if !e.array {
		return nil
	}
	c, err := e.b.skipSpace()
	switch {
	case err != nil:
		return e.broken(err)
	case c == ',':
		e.b.pos++
		return nil
	case c == ']':
		if err := e.close(); !errors.Is(err, io.EOF) {
			return err
		}
		return nil
	default:
		return fault.New(fault.Invalid, "the JSON array is broken: %q follows element %d instead of a comma or ]", c, e.count-1)
	}
}

// close takes the array's end and returns io.EOF when the body ends there too.
func (e *Elements) close() error {
	e.b.pos++
	e.done = true
	c, err := e.b.skipSpace()
	if err == nil {
		return fault.New(fault.Invalid, "the body goes on with %q after the end of the JSON array", c)
	}
	return err
}

// broken says where the body ended if it just ended.
func (e *Elements) broken(err error) error {
	if errors.Is(err, io.EOF) {
		return fault.New(fault.Invalid, "the JSON is broken: the body ends inside of it, after %d whole values", e.count)
	}
	return err
}

// extent follows brackets and quotes over the bytes of one value.
type extent struct {
	depth    int
	inString bool
	escaped  bool // the next byte of the string is escaped
}

// value takes one value, whose first byte is c.
func (b *Body) value(c byte) (Element, error) {
	var x extent
	bare := c != '{' && c != '[' && c != '"'
	scanned, size := 0, int64(0)
	for {
		n, ended := 0, false
		if bare {
			n, ended = bareEnd(b.buf[b.pos+scanned:b.end], size == 0)
		} else {
			n, ended = x.scan(b.buf[b.pos+scanned : b.end])
		}
		scanned += n
		size += int64(n)
		tooLong := size > int64(b.rowLimit)
		if ended {
			text := b.buf[b.pos : b.pos+scanned]
			b.pos += scanned
			if tooLong {
				return Element{Size: size, TooLong: true}, nil
			}
			return Element{Text: text, Size: size}, nil
		}
		if tooLong {
			b.pos, scanned = b.end, 0
		}
		if err := b.fill(); err != nil {
			if bare && errors.Is(err, io.EOF) {
				text := b.buf[b.pos : b.pos+scanned]
				b.pos += scanned
				return Element{Text: text, Size: size, TooLong: tooLong}, nil
			}
			return Element{}, err
		}
	}
}

// bareEnd returns how many bytes of data belong to a value without brackets or quotes, and whether it ends within data. The
// value's first byte belongs to it whatever it is.
func bareEnd(data []byte, first bool) (int, bool) {
	for i, c := range data {
		if first && i == 0 {
			continue
		}
		switch c {
		case ',', ']', '}', ' ', '\t', '\r', '\n', '{', '[', '"':
			return i, true
		}
	}
	return len(data), false
}

// scan goes on over data and returns how many bytes of it belong to the value, and whether it ends there.
func (x *extent) scan(data []byte) (int, bool) {
	for i := 0; i < len(data); {
		if x.inString {
			n := x.scanString(data[i:])
			i += n
			if !x.inString && x.depth == 0 {
				return i, true
			}
			continue
		}
		switch data[i] {
		case '"':
			x.inString = true
		case '{', '[':
			x.depth++
		case '}', ']':
			x.depth--
			if x.depth == 0 {
				return i + 1, true
			}
		}
		i++
	}
	return len(data), false
}

// scanString returns how many bytes of data belong to the string, up to and with its closing quote.
func (x *extent) scanString(data []byte) int {
	i := 0
	if x.escaped {
		x.escaped = false
		i = 1
	}
	for i < len(data) {
		quote := bytes.IndexByte(data[i:], '"')
		if quote < 0 {
			quote = len(data) - i
		}
		slash := bytes.IndexByte(data[i:i+quote], '\\')
		switch {
		case slash >= 0 && i+slash+1 == len(data):
			x.escaped = true
			return len(data)
		case slash >= 0:
			i += slash + 2
		case i+quote == len(data):
			return len(data)
		default:
			x.inString = false
			return i + quote + 1
		}
	}
	return i
}
