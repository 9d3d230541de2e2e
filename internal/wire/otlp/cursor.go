package otlp

import (
	"bytes"
	"unicode/utf8"
)

// cursor walks over JSON text that checkJSON has found valid, so it checks no syntax.
type cursor struct {
	s []byte
	i int
}

// next skips white space and returns the byte where a value begins, 0 at the end.
func (c *cursor) next() byte {
	for c.i < len(c.s) {
		switch b := c.s[c.i]; b {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return b
		}
	}
	return 0
}

// enter takes the bracket that opens an object or array and reports whether it has members.
func (c *cursor) enter() bool {
	c.next()
	c.i++
	return !c.leave(c.next())
}

// more takes what follows a member and reports whether another comes.
func (c *cursor) more() bool {
	if c.leave(c.next()) {
		return false
	}
	c.i++ // the comma
	return true
}

func (c *cursor) leave(b byte) bool {
	if b == '}' || b == ']' || b == 0 {
		c.i++
		return true
	}
	return false
}

// key takes an object's key and the colon behind it. The key is as sent, with its escapes.
func (c *cursor) key() []byte {
	c.next()
	k := c.quoted()
	c.next()
	c.i++
	return k
}

// quoted takes a string and returns what stands between its quotes.
func (c *cursor) quoted() []byte {
	start := c.i + 1
	end := start
	for end < len(c.s) {
		n := bytes.IndexByte(c.s[end:], '"')
		if n < 0 {
			end = len(c.s)
			break
		}
		end += n
		slashes := 0
		for end-slashes > start && c.s[end-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			break
		}
		end++
	}
	c.i = min(end+1, len(c.s))
	return c.s[start:end:end]
}

// value takes a value and returns its text.
func (c *cursor) value() []byte {
	b := c.next()
	start := c.i
	switch b {
	case '"':
		c.quoted()
	case '{', '[':
		c.brackets()
	default:
		c.scalar()
	}
	return c.s[start:c.i:c.i]
}

// scalar takes a number or a literal.
func (c *cursor) scalar() {
	for c.i < len(c.s) {
		switch c.s[c.i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return
		}
		c.i++
	}
}

// brackets takes an object or array.
func (c *cursor) brackets() {
	depth := 0
	for c.i < len(c.s) {
		switch c.s[c.i] {
		case '"':
			c.quoted()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		c.i++
		if depth == 0 {
			return
		}
	}
}

// unescape returns the content of a string that quoted has returned. Without escapes that is the text itself, else a copy in t. A
// surrogate escape without its partner becomes U+FFFD.
func (t *tree) unescape(s []byte) []byte {
	i := bytes.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	start := len(t.text)
	for i >= 0 {
		t.text = append(t.text, s[:i]...)
		var r rune
		r, s = escape(s[i:])
		t.text = utf8.AppendRune(t.text, r)
		i = bytes.IndexByte(s, '\\')
	}
	t.text = append(t.text, s...)
	return t.text[start:len(t.text):len(t.text)]
}
