package sqlplan

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/millstream/millstream/internal/signal"
)

// isWordRune reports whether r is part of a word: letters, digits and the underscore.
func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// learnWords learns from LIKE, contains and match() on a column of text.
func (b *binder) learnWords(e node, sc *scope) constraints {
	children := e.list("children")
	if len(children) < 2 {
		return constraints{}
	}
	ref, col := b.streamColumn(asNode(children[0]), sc)
	typ, text, ok := constantValue(asNode(children[1]))
	if col == nil || !ok || typ != "VARCHAR" || col.typ != signal.String && col.typ != signal.JSON {
		return constraints{}
	}
	var words []Word
	switch name := e.str("function_name"); {
	case name == matchFunction:
		words = matchWords(text)
	case (name == "~~" || name == "~~*") && len(children) == 2:
		words = likeWords(text)
	case name == "contains" && len(children) == 2:
		words = boundedWords(text, false, false)
	case (name == "starts_with" || name == "prefix" || name == "^@") && len(children) == 2:
		words = boundedWords(text, true, false)
	}
	if len(words) == 0 {
		return constraints{}
	}
	c := unlimited()
	c.words = []RequiredWords{{Column: col.field, Words: words}}
	return constraints{ref: c}
}

// matchWords returns the words that match() requires.
func matchWords(query string) []Word {
	var out []Word
	for _, t := range parseMatch(query) {
		for i, w := range t.words {
			out = append(out, Word{Text: foldWord(w), Prefix: t.prefix && i == len(t.words)-1})
		}
	}
	return out
}

// likeWords returns the words of a LIKE pattern that stand between characters that are no word characters and no wildcards. A pattern that begins or
// ends without a wildcard is bounded there by the text's own end.
func likeWords(pattern string) []Word {
	if strings.ContainsRune(pattern, '\\') {
		return nil
	}
	var out []Word
	pieces := strings.FieldsFunc(pattern, func(r rune) bool { return r == '%' })
	for i, p := range pieces {
		first := i == 0 && !strings.HasPrefix(pattern, "%")
		last := i == len(pieces)-1 && !strings.HasSuffix(pattern, "%")
		out = append(out, boundedWords(p, first, last)...)
	}
	kept := out[:0]
	for _, w := range out { // _ stands for any character
		if !strings.ContainsRune(w.Text, '_') {
			kept = append(kept, w)
		}
	}
	return kept
}

// boundedWords returns the words of s with a character that is no word character on both sides; start and end say that the ends of s are ends of
// the text.
func boundedWords(s string, start, end bool) []Word {
	words := splitWords(s)
	if len(words) == 0 {
		return nil
	}
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	if !end && isWordRune(last) {
		words = words[:len(words)-1]
	}
	if !start && isWordRune(first) && len(words) > 0 {
		words = words[1:]
	}
	out := make([]Word, len(words))
	for i, w := range words {
		out[i] = Word{Text: foldWord(w)}
	}
	return out
}

// equalWords returns the words of a column of text that equals a literal.
func equalWords(col *column, op Op, value node) []Word {
	typ, text, ok := constantValue(value)
	if op != Equal || !ok || typ != "VARCHAR" || col.typ != signal.String {
		return nil
	}
	return boundedWords(text, true, true)
}

// foldWord returns the form of a word under which an index knows it.
func foldWord(w string) string { return strings.ToLower(w) }
