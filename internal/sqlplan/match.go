package sqlplan

import (
	"regexp"
	"strings"
)

// matchTerm is one thing that match() asks for: words in a row, the last of which may be the beginning of one.
type matchTerm struct {
	words  []string
	prefix bool
}

// parseMatch reads the second argument of match(): words, "phrases in double quotes" and prefix*. Whatever is no word separates words; a run of
// characters without a space, such as 10.0.0.1, is a phrase. An open quote closes at the end.
func parseMatch(query string) []matchTerm {
	var terms []matchTerm
	for query != "" {
		query = strings.TrimLeft(query, " \t\r\n\f\v")
		var piece string
		if rest, quoted := strings.CutPrefix(query, `"`); quoted {
			piece, query, _ = strings.Cut(rest, `"`)
			prefix := strings.HasPrefix(query, "*")
			query = strings.TrimPrefix(query, "*")
			terms = appendTerm(terms, piece, prefix)
			continue
		}
		end := strings.IndexAny(query, " \t\r\n\f\v\"")
		if end < 0 {
			end = len(query)
		}
		piece, query = query[:end], query[end:]
		terms = appendTerm(terms, piece, strings.HasSuffix(piece, "*"))
	}
	return terms
}

func appendTerm(terms []matchTerm, piece string, prefix bool) []matchTerm {
	words := splitWords(piece)
	if len(words) == 0 {
		return terms
	}
	return append(terms, matchTerm{words: words, prefix: prefix})
}

// splitWords returns the longest runs of word characters in s.
func splitWords(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !isWordRune(r) })
}

// pattern returns the regular expression, for use without regard to case, that a text matches if it contains the term.
func (t matchTerm) pattern() string {
	const notWord = `[^\p{L}\p{N}_]`
	quoted := make([]string, len(t.words))
	for i, w := range t.words {
		quoted[i] = regexp.QuoteMeta(w)
	}
	p := `(?:^|` + notWord + `)` + strings.Join(quoted, notWord+`+`)
	if t.prefix {
		return p
	}
	return p + `(?:` + notWord + `|$)`
}

// checkMatch checks match(column, 'words').
func (c *checker) checkMatch(n node) error {
	args := n.list("children")
	const want = `match takes a column and a text in quotes: match(message, 'words "a phrase" begin*')`
	if len(args) != 2 {
		return c.refuse(n, want)
	}
	typ, text, ok := constantValue(asNode(args[1]))
	if !ok || typ != "VARCHAR" {
		return c.refuse(n, want)
	}
	if len(parseMatch(text)) == 0 {
		return c.refuse(asNode(args[1]), "match needs at least one word to look for")
	}
	return nil
}

// expandMatch turns match(text, 'a "b c"') into the conjunction of a regular expression for each term.
func expandMatch(n node) {
	args := n.list("children")
	alias := n.str("alias")
	subject := asNode(args[0])
	_, query, _ := constantValue(asNode(args[1]))
	var terms []node
	for _, t := range parseMatch(query) {
		terms = append(terms, newFunction(n, "regexp_matches", newCast(subject.clone(), "VARCHAR", false), newText(n, t.pattern()), newText(n, "is")))
	}
	out := terms[0]
	if len(terms) > 1 {
		out = newConjunction(n, "CONJUNCTION_AND", terms...)
	}
	out["alias"] = alias
	n.replace(out)
}
