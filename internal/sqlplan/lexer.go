package sqlplan

import (
	"strings"
	"unicode/utf8"
)

// tokenKind is the kind of a token.
type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenWord             // an unquoted name or keyword
	tokenName             // a name in double quotes or backquotes
	tokenString           // a string in single quotes, or between dollar marks
	tokenNumber           // digits and what sticks to them; a sign is a symbol
	tokenSymbol           // one character
	tokenBroken           // a quote or comment that does not end
)

// token is a piece of a statement. Comments and spaces are no tokens.
type token struct {
	kind   tokenKind
	text   string // without quotes
	offset int
}

// lexer cuts a statement into tokens. It tells our own statements from the engine's and reads the former; SELECT statements are read by the
// engine's parser alone.
type lexer struct {
	text string
	at   int
}

// next returns the next token, at the end a tokenEnd again and again.
func (l *lexer) next() token {
	if start, ok := l.skipSpace(); !ok {
		l.at = len(l.text)
		return token{kind: tokenBroken, text: "comment", offset: start}
	}
	start := l.at
	if start >= len(l.text) {
		return token{kind: tokenEnd, offset: start}
	}
	r, size := utf8.DecodeRuneInString(l.text[start:])
	switch {
	case r == '\'':
		return l.quoted(tokenString, '\'')
	case r == '"' || r == '`':
		return l.quoted(tokenName, byte(r))
	case r == '$':
		if t, ok := l.dollar(); ok {
			return t
		}
	case '0' <= r && r <= '9':
		l.at = start + run(l.text[start:], func(r rune) bool { return wordRune(r) || r == '.' })
		return token{kind: tokenNumber, text: l.text[start:l.at], offset: start}
	case wordRune(r):
		l.at = start + run(l.text[start:], func(r rune) bool { return wordRune(r) || r == '$' })
		return token{kind: tokenWord, text: l.text[start:l.at], offset: start}
	}
	l.at = start + size
	return token{kind: tokenSymbol, text: l.text[start:l.at], offset: start}
}

// wordRune reports whether r may stand in an unquoted name.
func wordRune(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf
}

// run returns the number of leading bytes of s whose runes are in class.
func run(s string, class func(rune) bool) int {
	for i, r := range s {
		if !class(r) {
			return i
		}
	}
	return len(s)
}

// skipSpace moves over spaces and comments. It is false, with the comment's start, when a comment does not end.
func (l *lexer) skipSpace() (start int, ok bool) {
	for l.at < len(l.text) {
		rest := l.text[l.at:]
		switch {
		case strings.IndexByte(" \t\r\n\f\v", rest[0]) >= 0:
			l.at++
		case strings.HasPrefix(rest, "--"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			l.at += end
		case strings.HasPrefix(rest, "/*"):
			end := commentEnd(rest)
			if end < 0 {
				return l.at, false
			}
			l.at += end
		default:
			return 0, true
		}
	}
	return 0, true
}

// commentEnd returns the length of the block comment with which s begins, or -1. Comments nest.
func commentEnd(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
		}
		if depth == 0 {
			return i + 1
		}
	}
	return -1
}

// quoted reads a token between quotes, which are doubled inside.
func (l *lexer) quoted(kind tokenKind, quote byte) token {
	start := l.at
	var b strings.Builder
	for i := start + 1; i < len(l.text); i++ {
		if l.text[i] != quote {
			b.WriteByte(l.text[i])
			continue
		}
		if i+1 < len(l.text) && l.text[i+1] == quote {
			b.WriteByte(quote)
			i++
			continue
		}
		l.at = i + 1
		return token{kind: kind, text: b.String(), offset: start}
	}
	l.at = len(l.text)
	return token{kind: tokenBroken, text: "quoted text", offset: start}
}

// dollar reads $tag$ … $tag$. It is false when no such mark begins here.
func (l *lexer) dollar() (token, bool) {
	rest := l.text[l.at:]
	end := 1 + run(rest[1:], wordRune)
	if end >= len(rest) || rest[end] != '$' {
		return token{}, false
	}
	mark := rest[:end+1]
	start := l.at
	size := strings.Index(rest[len(mark):], mark)
	if size < 0 {
		l.at = len(l.text)
		return token{kind: tokenBroken, text: "quoted text", offset: start}, true
	}
	l.at += len(mark) + size + len(mark)
	return token{kind: tokenString, text: rest[len(mark) : len(mark)+size], offset: start}, true
}
