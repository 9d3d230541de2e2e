package words

import (
	"regexp/syntax"
	"unicode"
)

// unknown stands in a mould for any text, the empty one included.
const unknown rune = -1

// mould is what is known of a text: its characters in order, with gaps of unknown text. Its ends are the ends of the text.
type mould []rune

// bounded returns the words of m that are words in every text of this mould, folded, without repetition: runs that are bounded on both
// sides by a known character or the end of the text.
func (m mould) bounded() []string {
	var out []string
	seen := make(map[string]bool)
	for at := 0; at < len(m); {
		if m[at] == unknown || !IsWord(m[at]) {
			at++
			continue
		}
		end := at
		for end < len(m) && m[end] != unknown && IsWord(m[end]) {
			end++
		}
		open := at > 0 && m[at-1] == unknown || end < len(m) && m[end] == unknown
		if w := Fold(string(m[at:end])); !open && !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
		at = end
	}
	return out
}

// EqualWords returns the folded words that a text equal to literal contains.
func EqualWords(literal string) []string { return mould(literal).bounded() }

// ContainsWords returns the folded words that every text with literal somewhere in it contains: "a word" gives none, " a word " both.
func ContainsWords(literal string) []string {
	return append(append(mould{unknown}, []rune(literal)...), unknown).bounded()
}

// PrefixWords returns the folded words of every text that starts with literal.
func PrefixWords(literal string) []string { return append(mould(literal), unknown).bounded() }

// SuffixWords returns the folded words of every text that ends with literal.
func SuffixWords(literal string) []string {
	return append(mould{unknown}, []rune(literal)...).bounded()
}

// LikeWords returns the folded words of every text that is LIKE or ILIKE pattern. escape is the character of ESCAPE, or 0 for none.
func LikeWords(pattern string, escape rune) []string {
	var m mould
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			m, escaped = append(m, r), false
		case escape != 0 && r == escape:
			escaped = true
		case r == '%' || r == '_':
			m = append(m, unknown)
		default:
			m = append(m, r)
		}
	}
	return m.bounded()
}

// RegexpWords returns the folded words of every text that an RE2 pattern finds something in, or matches as a whole if full. A pattern that
// cannot be read gives none.
func RegexpWords(pattern string, full bool) []string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	var m mould
	if !full {
		m = append(m, unknown)
	}
	m = appendRegexp(m, re)
	if !full {
		m = append(m, unknown)
	}
	return m.bounded()
}

// separator stands in a mould for a character that belongs to no word.
const separator = ' '

// appendRegexp appends what re makes known.
func appendRegexp(m mould, re *syntax.Regexp) mould {
	switch re.Op { //nolint:exhaustive // nothing is known of the others
	case syntax.OpEmptyMatch:
		return m
	case syntax.OpLiteral:
		return append(m, re.Rune...)
	case syntax.OpCharClass:
		if separates(re.Rune) {
			return append(m, separator)
		}
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpEndLine, syntax.OpEndText:
		// The end of a text or a line break is here, so no word goes on.
		return append(m, separator)
	case syntax.OpCapture:
		return appendRegexp(m, re.Sub[0])
	case syntax.OpPlus:
		return appendRepeated(m, re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return appendRepeated(m, re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			m = appendRegexp(m, sub)
		}
		return m
	}
	return append(m, unknown)
}

// appendRepeated appends at least one occurrence of re: separators stay one, of other things the first and the last are known.
func appendRepeated(m mould, re *syntax.Regexp) mould {
	once := appendRegexp(nil, re)
	if len(once) == 1 && once[0] == separator && re.Op == syntax.OpCharClass {
		return append(m, separator)
	}
	return append(append(append(m, once...), unknown), once...)
}

// separates reports whether no character of the class, given as pairs of bounds, belongs to words.
func separates(class []rune) bool {
	for i := 0; i+1 < len(class); i += 2 {
		lo, hi := class[i], class[i+1]
		for _, table := range []*unicode.RangeTable{unicode.L, unicode.N} {
			if overlaps(table, lo, hi) {
				return false
			}
		}
		if lo <= '_' && '_' <= hi {
			return false
		}
	}
	return true
}

// overlaps reports whether some character of [lo, hi] is in table.
func overlaps(table *unicode.RangeTable, lo, hi rune) bool {
	for _, r := range table.R16 {
		if rangeOverlaps(rune(r.Lo), rune(r.Hi), rune(r.Stride), lo, hi) {
			return true
		}
	}
	for _, r := range table.R32 {
		if rangeOverlaps(rune(r.Lo), rune(r.Hi), rune(r.Stride), lo, hi) {
			return true
		}
	}
	return false
}

// rangeOverlaps reports whether from, from+stride, … to has a member in [lo, hi].
func rangeOverlaps(from, to, stride, lo, hi rune) bool {
	if hi < from || to < lo {
		return false
	}
	first := from
	if lo > from {
		first = from + (lo-from+stride-1)/stride*stride
	}
	return first <= min(hi, to)
}
