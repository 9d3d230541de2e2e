package words

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/millstream/millstream/internal/fault"
)

// Term is one condition of a match() query. All terms of a query must hold.
type Term struct {
	// Pattern is an RE2 expression that finds the term in a text, in any case of letters. It uses Class at its edges and never \b.
	Pattern string
	// Hint is an RE2 expression that finds something wherever Pattern does, and elsewhere too: the term's longest word in any case of
	// letters, which engines look for many times faster.
	Hint string
	// Required are the folded words that a text with the term contains whole: what an index is asked for. Empty for a lone prefix.
	Required []string
	// Prefix is the folded beginning of the term's last word if it ended with *, else empty.
	Prefix string
}

// Regular expressions of what separates words, and of what may stand before and after a word.
const (
	gap    = `[^` + Class + `]+`
	before = `(?:^|[^` + Class + `])`
	after  = `(?:$|[^` + Class + `])`
)

// MatchTerms reads the query of match(column, query): terms separated by white space; a term in double quotes is a phrase, whose words
// stand next to each other in this order, whatever characters that are no word characters are between them. A term without quotes but
// with such characters in it (10.0.0.1) is a phrase too. A * directly after the last word of a term lets that word go on.
//
// Errors are fault.Invalid: a quote without its partner, or no word at all.
func MatchTerms(query string) ([]Term, error) {
	var terms []Term
	for rest := query; ; {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		if rest == "" {
			break
		}
		text, tail, ok := cutTerm(rest)
		if !ok {
			return nil, fault.New(fault.Invalid, "match: a double quote has no partner in %q", query)
		}
		rest = tail
		if t, ok := newTerm(text); ok {
			terms = append(terms, t)
		}
	}
	if len(terms) == 0 {
		return nil, fault.New(fault.Invalid, "match: %q contains no word", query)
	}
	return terms, nil
}

// cutTerm splits the first term off s, which begins with it. A * after a closing quote belongs to the term.
func cutTerm(s string) (term, rest string, ok bool) {
	if s[0] == '"' {
		term, rest, ok = strings.Cut(s[1:], `"`)
		if ok && strings.HasPrefix(rest, "*") {
			term, rest = term+"*", rest[1:]
		}
		return term, rest, ok
	}
	end := strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:], true
}

// newTerm builds the term of a text; ok is false if it has no words.
func newTerm(text string) (t Term, ok bool) {
	var quoted, folded []string
	for w := range Of(text) {
		quoted, folded = append(quoted, regexp.QuoteMeta(w)), append(folded, Fold(w))
	}
	if len(quoted) == 0 {
		return Term{}, false
	}
	end := after
	if body, star := strings.CutSuffix(text, "*"); star && strings.HasSuffix(body, lastWord(body)) && lastWord(body) != "" {
		end, t.Prefix = "", folded[len(folded)-1]
		folded = folded[:len(folded)-1]
	}
	t.Pattern = "(?i)" + before + strings.Join(quoted, gap) + end
	t.Hint = "(?i)" + slices.MaxFunc(quoted, func(a, b string) int { return len(a) - len(b) })
	t.Required = folded
	return t, true
}

func lastWord(text string) string {
	last := ""
	for w := range Of(text) {
		last = w
	}
	return last
}
