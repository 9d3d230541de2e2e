package jsontext

import (
	"math"
	"strconv"
)

// Kind says which member of a Value counts.
type Kind uint8

// The kinds. A number is Int64 when its token is an integer that fits, Float64 when it has a point or an exponent and its size fits
// a float64, else Number.
const (
	Null Kind = iota
	Bool
	Int64
	Float64
	Number
	String
	JSON // an array or an object
)

// Value is one value. Its text belongs to the scanner.
type Value struct {
	Kind  Kind
	Int   int64   // of Int64; 1 or 0 of Bool
	Float float64 // of Float64
	// Text is the content of a String; the compact text of JSON (no white space, tokens as sent); the token of the others.
	Text []byte
}

// Value takes the next value, which stands inside depth objects and arrays.
func (s *Scanner) Value(v *Value, depth int) error {
	switch c := s.Next(); {
	case c == '"':
		text, err := s.String()
		v.Kind, v.Text = String, text
		return err
	case c == '-' || (c >= '0' && c <= '9'):
		return s.number(v)
	case c == '{' || c == '[':
		from := len(s.arena)
		if err := s.compact(depth); err != nil {
			return err
		}
		v.Kind, v.Text = JSON, s.arena[from:len(s.arena):len(s.arena)]
		return nil
	case c == 't':
		v.Kind, v.Int = Bool, 1
		return s.literal(v, "true")
	case c == 'f':
		v.Kind, v.Int = Bool, 0
		return s.literal(v, "false")
	case c == 'n':
		v.Kind = Null
		return s.literal(v, "null")
	default:
		return s.Fail("a value is missing")
	}
}

func (s *Scanner) literal(v *Value, word string) error {
	end := s.pos + len(word)
	if end > len(s.data) || string(s.data[s.pos:end]) != word {
		return s.Fail("a value is missing")
	}
	v.Text = s.data[s.pos:end:end]
	s.pos = end
	return nil
}

// number takes a number.
func (s *Scanner) number(v *Value) error {
	start := s.pos
	if s.data[s.pos] == '-' {
		s.pos++
	}
	mantissa, digits, err := s.integer()
	if err != nil {
		return err
	}
	neg := s.data[start] == '-'
	if s.pos < len(s.data) {
		if c := s.data[s.pos]; c == '.' || c|0x20 == 'e' {
			return s.fraction(v, start, mantissa, digits)
		}
	}
	v.Text = s.data[start:s.pos:s.pos]
	switch {
	case digits > 19 || (!neg && mantissa > math.MaxInt64) || (neg && mantissa > 1<<63):
		v.Kind = Number
	case neg:
		v.Kind, v.Int = Int64, -int64(mantissa)
	default:
		v.Kind, v.Int = Int64, int64(mantissa)
	}
	return nil
}

// integer takes 0 or digits without a leading zero. The value is right up to 19 digits.
func (s *Scanner) integer() (value uint64, digits int, err error) {
	i := s.pos
	for ; i < len(s.data) && s.data[i]-'0' <= 9; i++ {
		value = value*10 + uint64(s.data[i]-'0')
	}
	digits = i - s.pos
	if digits == 0 || (digits > 1 && s.data[s.pos] == '0') {
		s.pos = min(i, s.pos+1)
		return 0, 0, s.Fail("a bad number")
	}
	s.pos = i
	return value, digits, nil
}

// pow10 are the powers of ten that a float64 holds exactly.
//
//nolint:gochecknoglobals // an immutable table
var pow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// fraction takes the rest of a number that has a point or an exponent. mantissa holds its first digits.
func (s *Scanner) fraction(v *Value, start int, mantissa uint64, digits int) error {
	decimals := 0
	if s.data[s.pos] == '.' {
		s.pos++
		from := s.pos
		for ; s.pos < len(s.data) && s.data[s.pos]-'0' <= 9; s.pos++ {
			mantissa = mantissa*10 + uint64(s.data[s.pos]-'0')
		}
		decimals = s.pos - from
		digits += decimals
		if decimals == 0 {
			return s.Fail("a bad number")
		}
	}
	exponent := s.pos < len(s.data) && s.data[s.pos]|0x20 == 'e'
	if exponent {
		if err := s.exponent(); err != nil {
			return err
		}
	}
	v.Kind, v.Text = Float64, s.data[start:s.pos:s.pos]
	// Both operands are exact, so the quotient is the nearest float64.
	if !exponent && digits <= 19 && mantissa <= 1<<53 && decimals < len(pow10) {
		v.Float = float64(mantissa) / pow10[decimals]
		if s.data[start] == '-' {
			v.Float = -v.Float
		}
		return nil
	}
	f, err := strconv.ParseFloat(string(v.Text), 64)
	if err != nil || (f == 0 && !isZero(v.Text)) {
		v.Kind = Number // too large or too small for a float64
		return nil
	}
	v.Float = f
	return nil
}

// exponent takes an exponent, whose letter is the next byte.
func (s *Scanner) exponent() error {
	s.pos++
	if s.pos < len(s.data) && (s.data[s.pos] == '+' || s.data[s.pos] == '-') {
		s.pos++
	}
	from := s.pos
	for s.pos < len(s.data) && s.data[s.pos]-'0' <= 9 {
		s.pos++
	}
	if s.pos == from {
		return s.Fail("a bad number")
	}
	return nil
}

// isZero reports whether a number's token is a zero.
func isZero(token []byte) bool {
	for _, c := range token {
		switch {
		case c >= '1' && c <= '9':
			return false
		case c|0x20 == 'e':
			return true
		}
	}
	return true
}
