package loki

import (
	"strconv"
	"unicode/utf8"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
)

// MaxLabels is how many labels a stream may have, a bound far above any limit of a tenant.
const MaxLabels = 1000

// addLabel adds a label after checking its name.
func addLabel(set *signal.LabelSet, name, value []byte) error {
	switch {
	case !validName(name):
		return wire.Reject(wire.BadLabels, "label name %.64q is not allowed (letters, digits and _ are, no digit first)", name)
	case set.Len() == MaxLabels:
		return wire.Reject(wire.BadLabels, "the stream has more than %d labels", MaxLabels)
	case !set.Add(name, value):
		return wire.Reject(wire.BadLabels, "label %.64q is there twice", name)
	}
	return nil
}

// validName reports whether name is a label name of Prometheus.
func validName(name []byte) bool {
	for i, c := range name {
		if !nameByte(c) || (i == 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return len(name) > 0
}

func nameByte(c byte) bool {
	return c == '_' || (c|0x20 >= 'a' && c|0x20 <= 'z') || (c >= '0' && c <= '9')
}

// appendName appends a metadata name in the form of a label name: other characters become "_", one each, and a digit at the start
// gets one put before it.
func appendName(dst, name []byte) []byte {
	if len(name) == 0 || (name[0] >= '0' && name[0] <= '9') {
		dst = append(dst, '_')
	}
	for len(name) > 0 {
		_, n := utf8.DecodeRune(name)
		if n == 1 && nameByte(name[0]) {
			dst = append(dst, name[0])
		} else {
			dst = append(dst, '_')
		}
		name = name[n:]
	}
	return dst
}

// labelText reads the text form of a label set, {a="b", c="d"}, of the Prometheus text syntax: values stand in double quotes, single
// quotes (both with Go's escapes) or backquotes (without any).
type labelText struct {
	text string
	pos  int
}

// parseLabels adds the labels of text to set.
func parseLabels(set *signal.LabelSet, text []byte) error {
	p := labelText{text: string(text)}
	if !p.take('{') {
		return p.fail("{")
	}
	for !p.take('}') {
		name := p.name()
		if len(name) == 0 {
			return p.fail("a label name")
		}
		if !p.take('=') {
			return p.fail("=")
		}
		value, ok := p.value()
		if !ok {
			return p.fail("a value in quotes")
		}
		if err := addLabel(set, []byte(name), []byte(value)); err != nil {
			return err
		}
		if !p.take(',') && p.peek() != '}' {
			return p.fail("a comma or }")
		}
	}
	if p.peek() != 0 || p.pos < len(p.text) {
		return p.fail("the end")
	}
	return nil
}

func (p *labelText) fail(want string) error {
	return wire.Reject(wire.BadLabels, "labels %.128q: %s is expected at byte %d", p.text, want, p.pos)
}

// peek skips white space and returns the next byte, 0 at the end.
func (p *labelText) peek() byte {
	for ; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (p *labelText) take(c byte) bool {
	if p.peek() != c || p.pos >= len(p.text) {
		return false
	}
	p.pos++
	return true
}

func (p *labelText) name() string {
	p.peek()
	start := p.pos
	for p.pos < len(p.text) && nameByte(p.text[p.pos]) {
		p.pos++
	}
	return p.text[start:p.pos]
}

func (p *labelText) value() (string, bool) {
	quote := p.peek()
	if quote != '"' && quote != '\'' && quote != '`' {
		return "", false
	}
	rest := p.text[p.pos+1:]
	var out []byte
	for rest != "" {
		if rest[0] == quote {
			p.pos = len(p.text) - len(rest) + 1
			return string(out), true
		}
		if quote == '`' || rest[0] != '\\' { // bytes as they are, also invalid ones
			out = append(out, rest[0])
			rest = rest[1:]
			continue
		}
		r, wide, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			return "", false
		}
		if wide || r < utf8.RuneSelf {
			out = utf8.AppendRune(out, r)
		} else {
			out = append(out, byte(r)) // \xff stands for the byte
		}
		rest = tail
	}
	return "", false
}
