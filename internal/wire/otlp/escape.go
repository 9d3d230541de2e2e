package otlp

import (
	"unicode/utf16"
	"unicode/utf8"
)

// escape reads the valid JSON escape at the start of s, or two that are a surrogate pair, and returns the rest.
func escape(s []byte) (rune, []byte) {
	switch c := s[1]; c {
	case 'b':
		return '\b', s[2:]
	case 'f':
		return '\f', s[2:]
	case 'n':
		return '\n', s[2:]
	case 'r':
		return '\r', s[2:]
	case 't':
		return '\t', s[2:]
	case 'u':
	default:
		return rune(c), s[2:]
	}
	r := hex4(s[2:6])
	s = s[6:]
	if !utf16.IsSurrogate(r) {
		return r, s
	}
	if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(s[2:6])); pair != utf8.RuneError {
			return pair, s[6:]
		}
	}
	return utf8.RuneError, s
}

func hex4(digits []byte) rune {
	var r rune
	for _, c := range digits {
		d, _ := hexDigit(c)
		r = r<<4 | rune(d)
	}
	return r
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	default:
		return 0, false
	}
}
