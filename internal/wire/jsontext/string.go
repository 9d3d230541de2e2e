package jsontext

import (
	"unicode/utf16"
	"unicode/utf8"
)

// String takes a string, whose opening quote is the next byte, and returns its content.
func (s *Scanner) String() ([]byte, error) {
	start := s.pos + 1
	end := plainEnd(s.data, start)
	if end < len(s.data) && s.data[end] == '"' {
		s.pos = end + 1
		return s.data[start:end:end], nil
	}
	from := len(s.arena)
	s.arena = append(s.arena, s.data[start:end]...)
	for {
		s.pos = end
		if end == len(s.data) {
			return nil, s.Fail("")
		}
		switch s.data[end] {
		case '"':
			s.pos++
			return s.arena[from:len(s.arena):len(s.arena)], nil
		case '\\':
			r, err := s.escape()
			if err != nil {
				return nil, err
			}
			s.arena = utf8.AppendRune(s.arena, r)
		default:
			return nil, s.Fail("a control character in a string")
		}
		end = plainEnd(s.data, s.pos)
		s.arena = append(s.arena, s.data[s.pos:end]...)
	}
}

// escape takes one escape, or two that are a surrogate pair. A surrogate without its partner is U+FFFD.
func (s *Scanner) escape() (rune, error) {
	if s.pos+1 >= len(s.data) {
		s.pos = len(s.data)
		return 0, s.Fail("")
	}
	switch c := s.data[s.pos+1]; c {
	case 'u':
		return s.unicodeEscape()
	case '"', '\\', '/':
		s.pos += 2
		return rune(c), nil
	case 'b':
		s.pos += 2
		return '\b', nil
	case 'f':
		s.pos += 2
		return '\f', nil
	case 'n':
		s.pos += 2
		return '\n', nil
	case 'r':
		s.pos += 2
		return '\r', nil
	case 't':
		s.pos += 2
		return '\t', nil
	default:
		return 0, s.Fail("an unknown escape in a string")
	}
}

func (s *Scanner) unicodeEscape() (rune, error) {
	r := hex4(s.data, s.pos+2)
	if r < 0 {
		return 0, s.Fail("a bad \\u escape in a string")
	}
	s.pos += 6
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if s.pos+1 < len(s.data) && s.data[s.pos] == '\\' && s.data[s.pos+1] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(s.data, s.pos+2)); pair != utf8.RuneError {
			s.pos += 6
			return pair, nil
		}
	}
	return utf8.RuneError, nil
}

// hex4 reads four hexadecimal digits at data[i:], -1 if there are none.
func hex4(data []byte, i int) rune {
	if i+4 > len(data) {
		return -1
	}
	var r rune
	for _, c := range data[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
