package jsontext

import (
	"unicode/utf16"
	"unicode/utf8"
)

// compact takes the next value, which stands inside depth objects and arrays, and appends it to the arena without white space.
// Tokens stay as they were sent, but a surrogate escape without its partner, which SQL functions refuse to read, becomes U+FFFD.
func (s *Scanner) compact(depth int) error {
	switch c := s.Next(); c {
	case '{', '[':
		if depth >= MaxDepth {
			return s.Fail("values are nested too deep")
		}
		return s.compactMembers(c, depth+1)
	case '"':
		return s.compactString()
	default:
		var v Value
		if err := s.Value(&v, depth); err != nil {
			return err
		}
		s.arena = append(s.arena, v.Text...)
		return nil
	}
}

func (s *Scanner) compactMembers(open byte, depth int) error {
	last := open + 2 // in ASCII for both kinds of brackets
	s.pos++
	s.arena = append(s.arena, open)
	if s.Take(last) {
		s.arena = append(s.arena, last)
		return nil
	}
	for {
		if open == '{' {
			if s.Next() != '"' {
				return s.Fail("a key in quotes is missing")
			}
			if err := s.compactString(); err != nil {
				return err
			}
			if !s.Take(':') {
				return s.Fail("a colon after a key is missing")
			}
			s.arena = append(s.arena, ':')
		}
		if err := s.compact(depth); err != nil {
			return err
		}
		more, err := s.More(last)
		if err != nil {
			return err
		}
		if !more {
			s.arena = append(s.arena, last)
			return nil
		}
		s.arena = append(s.arena, ',')
	}
}

func (s *Scanner) compactString() error {
	from := s.pos
	s.pos++
	for {
		s.pos = plainEnd(s.data, s.pos)
		if s.pos == len(s.data) {
			return s.Fail("")
		}
		switch s.data[s.pos] {
		case '"':
			s.pos++
			s.arena = append(s.arena, s.data[from:s.pos]...)
			return nil
		case '\\':
			at := s.pos
			r, err := s.escape()
			if err != nil {
				return err
			}
			if r == utf8.RuneError && s.data[at+1] == 'u' && utf16.IsSurrogate(hex4(s.data, at+2)) {
				s.arena = append(s.arena, s.data[from:at]...)
				s.arena = append(s.arena, `\ufffd`...)
				from = s.pos
			}
		default:
			return s.Fail("a control character in a string")
		}
	}
}
