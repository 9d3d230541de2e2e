package sqlplan

import (
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/words"
)

// matchFunction is our own function match(column, 'words "a phrase" begin*'), see words.MatchTerms.
const matchFunction = "match"

// maxMatchBytes bounds the second argument of match(): each of its terms is a regular expression over the first.
const maxMatchBytes = 1000

// checkMatch checks match(column, 'words').
func (c *checker) checkMatch(n node) error {
	const want = `match takes a column and a text in quotes: match(message, 'words "a phrase" begin*')`
	args := n.list("children")
	if len(args) != 2 {
		return c.refuse(n, "%s", want)
	}
	typ, text, ok := constantValue(asNode(args[1]))
	if !ok || typ != "VARCHAR" {
		return c.refuse(n, "%s", want)
	}
	if len(text) > maxMatchBytes {
		return c.refuse(asNode(args[1]), "match takes a text of up to %d bytes", maxMatchBytes)
	}
	if !isSmall(asNode(args[0])) || callsMatch(asNode(args[0])) {
		return c.refuse(n, "match takes a column, not a large expression")
	}
	if _, err := words.MatchTerms(text); err != nil {
		return c.refuse(asNode(args[1]), "%s", fault.Message(err))
	}
	return nil
}

func callsMatch(e node) bool {
	found := false
	walk(e, func(n node) bool {
		found = found || n.class() == "FUNCTION" && lowerEqual(n.str("function_name"), matchFunction)
		return !found
	})
	return found
}

// expandMatch turns match(text, 'a "b c"') into a conjunction: for each term what sorts out most texts quickly, and the term itself.
func expandMatch(n node) error {
	args := n.list("children")
	subject := asNode(args[0])
	_, query, _ := constantValue(asNode(args[1]))
	terms, err := words.MatchTerms(query)
	if err != nil {
		return err
	}
	var quick, exact []node
	find := func(pattern string) node {
		return newFunction(n, "regexp_matches", newCast(subject.clone(), "VARCHAR", false), newText(n, pattern))
	}
	for _, t := range terms {
		quick, exact = append(quick, find(t.Hint)), append(exact, find(t.Pattern))
	}
	n.replace(withAlias(newConjunction(n, "CONJUNCTION_AND", append(quick, exact...)...), n))
	return nil
}

// learnWords learns from LIKE, contains, regular expressions and match() on a column of text.
func (b *binder) learnWords(e node, sc *scope) constraints {
	children := e.list("children")
	if len(children) < 2 {
		return constraints{}
	}
	ref, col := b.streamColumn(asNode(children[0]), sc)
	typ, text, ok := constantValue(asNode(children[1]))
	if col == nil || !ok || typ != "VARCHAR" || col.class != classText && col.class != classWidened {
		return constraints{}
	}
	required := callWords(e.str("function_name"), text, children[2:])
	if len(required) == 0 {
		return constraints{}
	}
	c := unlimited()
	c.words = []RequiredWords{{Column: col.field, Words: required}}
	return constraints{ref: c}
}

// callWords returns the words of every text for which function(text, pattern, more…) is true.
func callWords(function, pattern string, more []any) []Word {
	switch {
	case function == matchFunction:
		return matchWords(pattern)
	case (function == "like_escape" || function == "ilike_escape") && len(more) == 1:
		typ, escape, ok := constantValue(asNode(more[0]))
		if r := []rune(escape); ok && typ == "VARCHAR" && len(r) == 1 {
			return wholeWords(words.LikeWords(pattern, r[0]))
		}
		return nil
	case len(more) > 0: // options of regular expressions
		return nil
	}
	switch function {
	case "~~", "~~*":
		return wholeWords(words.LikeWords(pattern, 0))
	case "contains":
		return wholeWords(words.ContainsWords(pattern))
	case "starts_with", "prefix", "^@":
		return wholeWords(words.PrefixWords(pattern))
	case "ends_with", "suffix":
		return wholeWords(words.SuffixWords(pattern))
	case "regexp_matches":
		return wholeWords(words.RegexpWords(pattern, false))
	case "regexp_full_match":
		return wholeWords(words.RegexpWords(pattern, true))
	}
	return nil
}

// matchWords returns the words that match() requires.
func matchWords(query string) []Word {
	terms, err := words.MatchTerms(query)
	if err != nil {
		return nil
	}
	var out []Word
	for _, t := range terms {
		out = append(out, wholeWords(t.Required)...)
		if t.Prefix != "" {
			out = append(out, Word{Text: t.Prefix, Prefix: true})
		}
	}
	return out
}

func wholeWords(folded []string) []Word {
	out := make([]Word, len(folded))
	for i, w := range folded {
		out[i] = Word{Text: w}
	}
	return out
}

// equalWords returns the words of a column of text that equals a literal.
func equalWords(col *column, op Op, value node) []Word {
	typ, text, ok := constantValue(value)
	if op != Equal || !ok || typ != "VARCHAR" || col.typ != signal.String {
		return nil
	}
	return wholeWords(words.EqualWords(text))
}
