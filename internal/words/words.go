package words

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// Class is the regular expression class of the characters of words, without brackets.
const Class = `\p{L}\p{N}_`

// IsWord reports whether r belongs to words.
func IsWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_'
	}
	return unicode.IsLetter(r) || unicode.Is(unicode.N, r)
}

// FoldRune returns the representative of all characters that differ from r in case only, a lower case letter where there is one.
func FoldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return unicode.ToLower(least)
}

// AppendFold appends word to dst, folded.
func AppendFold(dst []byte, word string) []byte {
	for _, r := range word {
		dst = utf8.AppendRune(dst, FoldRune(r))
	}
	return dst
}

// Fold returns word folded.
func Fold(word string) string { return string(AppendFold(nil, word)) }

// Of yields the words of text in order, as they stand there and not folded.
func Of(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := -1
		for i, r := range text {
			switch in := IsWord(r); {
			case in && start < 0:
				start = i
			case !in && start >= 0:
				if !yield(text[start:i]) {
					return
				}
				start = -1
			}
		}
		if start >= 0 {
			yield(text[start:])
		}
	}
}
