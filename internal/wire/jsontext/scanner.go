package jsontext

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// MaxDepth is how many objects and arrays may stand inside each other.
const MaxDepth = 64

// SyntaxError is why a text is not JSON.
type SyntaxError struct {
	Offset int // of the byte that is wrong, from 0
	Reason string
}

// Error implements error.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset) }

// Scanner walks over one JSON text. The zero value scans an empty text. Bytes that it hands out belong to the text or to the
// scanner and hold until the next Reset.
type Scanner struct {
	data  []byte
	pos   int
	arena []byte // unescaped strings and compacted values of this text
}

// Reset starts on another text. The bytes handed out before are no longer valid.
func (s *Scanner) Reset(data []byte) {
	s.data, s.pos, s.arena = data, 0, s.arena[:0]
}

// Offset returns where the scanner stands.
func (s *Scanner) Offset() int { return s.pos }

// Seek goes to a place that Offset gave.
func (s *Scanner) Seek(offset int) { s.pos = offset }

// Free gives up the bytes handed out so far, so that a long text does not keep all its strings in memory.
func (s *Scanner) Free() { s.arena = s.arena[:0] }

// Fail returns a SyntaxError at the scanner's place.
func (s *Scanner) Fail(reason string) error {
	if s.pos >= len(s.data) {
		reason = "unexpected end of JSON"
	}
	return &SyntaxError{Offset: s.pos, Reason: reason}
}

// Next skips white space and returns the next byte without taking it, 0 at the end.
func (s *Scanner) Next() byte {
	if s.pos < len(s.data) {
		if c := s.data[s.pos]; c > ' ' {
			return c
		}
	}
	return s.skipSpace()
}

func (s *Scanner) skipSpace() byte {
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// Take skips white space and takes the next byte if it is c.
func (s *Scanner) Take(c byte) bool {
	if s.Next() != c || s.pos >= len(s.data) {
		return false
	}
	s.pos++
	return true
}

// End returns nil when only white space is left.
func (s *Scanner) End() error {
	s.Next()
	if s.pos < len(s.data) {
		return s.Fail("text after the end of the value")
	}
	return nil
}

// Key takes an object's next key and the colon behind it.
func (s *Scanner) Key() ([]byte, error) {
	if s.Next() != '"' {
		return nil, s.Fail("a key in quotes is missing")
	}
	key, err := s.String()
	if err != nil {
		return nil, err
	}
	if !s.Take(':') {
		return nil, s.Fail("a colon after a key is missing")
	}
	return key, nil
}

// More takes the comma between two members or the end of the object or array, which last names ('}' or ']'), and reports whether
// a further member follows.
func (s *Scanner) More(last byte) (bool, error) {
	switch s.Next() {
	case ',':
		s.pos++
		return true, nil
	case last:
		s.pos++
		return false, nil
	default:
		return false, s.Fail("a comma or " + string(last) + " is missing")
	}
}

// Object takes an object and calls f with each key, in order; f takes the value.
func (s *Scanner) Object(f func(key []byte) error) error {
	if !s.Take('{') {
		return s.Fail("an object is expected")
	}
	if s.Take('}') {
		return nil
	}
	for more := true; more; {
		key, err := s.Key()
		if err != nil {
			return err
		}
		if err := f(key); err != nil {
			return err
		}
		if more, err = s.More('}'); err != nil {
			return err
		}
	}
	return nil
}

// Array takes an array and calls f for each element, which f takes.
func (s *Scanner) Array(f func() error) error {
	if !s.Take('[') {
		return s.Fail("an array is expected")
	}
	if s.Take(']') {
		return nil
	}
	for more := true; more; {
		err := f()
		if err != nil {
			return err
		}
		if more, err = s.More(']'); err != nil {
			return err
		}
	}
	return nil
}

// Join returns prefix and name as one text that holds until the next Reset.
func (s *Scanner) Join(prefix, name []byte) []byte {
	start := len(s.arena)
	s.arena = append(s.arena, prefix...)
	s.arena = append(s.arena, name...)
	return s.arena[start:len(s.arena):len(s.arena)]
}

const (
	eachByte = 0x0101010101010101
	highBits = 0x8080808080808080
)

// plainEnd returns the place of the first byte from i on that ends or interrupts a string: a quote, a backslash or a control
// character; len(data) if there is none. Eight bytes are looked at together: for each of the three, the high bit of the lowest
// byte that fits is set, borrows spoil only bytes above it.
func plainEnd(data []byte, i int) int {
	for ; i+8 <= len(data); i += 8 {
		w := binary.LittleEndian.Uint64(data[i:])
		quote := w ^ (eachByte * '"')
		slash := w ^ (eachByte * '\\')
		found := ((quote-eachByte)&^quote | (slash-eachByte)&^slash | (w-eachByte*0x20)&^w) & highBits
		if found != 0 {
			return i + bits.TrailingZeros64(found)>>3
		}
	}
	for ; i < len(data); i++ {
		if c := data[i]; c == '"' || c == '\\' || c < 0x20 {
			break
		}
	}
	return i
}
