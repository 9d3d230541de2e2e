package signal

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// LabelsColumn holds a label set as a JSON object of strings, keys in byte order and written once, no empty values: the form of
// [LabelSet.AppendJSON]. Equal sets have equal bytes.
const LabelsColumn = "_labels"

// LabelSet collects the labels of a row. The zero value is empty and ready; Reset keeps its memory for the next row.
type LabelSet struct {
	text  []byte
	pairs []labelPair
}

// labelPair is a name and a value as places in text: text[start:mid] and text[mid:end].
type labelPair struct{ start, mid, end int }

// Reset empties the set.
func (s *LabelSet) Reset() {
	s.text, s.pairs = s.text[:0], s.pairs[:0]
}

// Add adds a label, whose bytes are copied; invalid UTF-8 is replaced by U+FFFD. It is false, and adds nothing, when the set has
// a label of that name. A label of an empty value is no label: it is left out and Add is true.
func (s *LabelSet) Add(name, value []byte) bool {
	if len(value) == 0 {
		return true
	}
	start := len(s.text)
	s.text = appendValid(s.text, name)
	mid := len(s.text)
	if s.has(s.text[start:mid]) {
		s.text = s.text[:start]
		return false
	}
	s.text = appendValid(s.text, value)
	s.pairs = append(s.pairs, labelPair{start, mid, len(s.text)})
	return true
}

// Len returns the number of labels.
func (s *LabelSet) Len() int { return len(s.pairs) }

func (s *LabelSet) has(name []byte) bool {
	for _, p := range s.pairs {
		if bytes.Equal(s.text[p.start:p.mid], name) {
			return true
		}
	}
	return false
}

// Sort puts the labels in the byte order of their names. At gives them in that order.
func (s *LabelSet) Sort() {
	slices.SortFunc(s.pairs, func(a, b labelPair) int {
		return bytes.Compare(s.text[a.start:a.mid], s.text[b.start:b.mid])
	})
}

// At returns label i, 0 to Len()-1. The bytes belong to the set.
func (s *LabelSet) At(i int) (name, value []byte) {
	p := s.pairs[i]
	return s.text[p.start:p.mid:p.mid], s.text[p.mid:p.end:p.end]
}

// AppendJSON sorts the set and appends it to dst in the form of LabelsColumn.
func (s *LabelSet) AppendJSON(dst []byte) []byte {
	s.Sort()
	dst = append(dst, '{')
	for i := range s.pairs {
		if i > 0 {
			dst = append(dst, ',')
		}
		name, value := s.At(i)
		dst = AppendJSONString(dst, name)
		dst = append(dst, ':')
		dst = AppendJSONString(dst, value)
	}
	return append(dst, '}')
}

// AppendJSONString appends s as a JSON string. Invalid UTF-8 is replaced by U+FFFD, a byte a rune; only what JSON demands is
// escaped, so the text is the shortest one.
func AppendJSONString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0x20:
			dst = append(dst, c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, '"')
}

// appendValid appends s with each invalid byte replaced by U+FFFD.
func appendValid(dst, s []byte) []byte {
	if utf8.Valid(s) {
		return append(dst, s...)
	}
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		dst = utf8.AppendRune(dst, r)
		s = s[n:]
	}
	return dst
}
