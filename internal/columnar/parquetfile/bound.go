package parquetfile

import "unicode/utf8"

// MaxBoundBytes is the longest text that stands in statistics.
const MaxBoundBytes = 64

// LowerBound returns a valid text of at most MaxBoundBytes that is not greater than v, and whether it is v itself.
func LowerBound(v string) (string, bool) {
	if len(v) <= MaxBoundBytes {
		return v, true
	}
	return cutRunes(v), false
}

// UpperBound returns a valid text of at most MaxBoundBytes that is not less than v and whether it is v itself. It is not ok
// when there is none so short.
func UpperBound(v string) (bound string, exact, ok bool) {
	if len(v) <= MaxBoundBytes {
		return v, true, true
	}
	for s := cutRunes(v); s != ""; {
		r, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
		if next, ok := nextRune(r, n); ok {
			return s + string(next), false, true
		}
	}
	return "", false, false
}

// cutRunes returns the longest prefix of whole runes that is not longer than MaxBoundBytes.
func cutRunes(v string) string {
	n := MaxBoundBytes
	for n > 0 && !utf8.RuneStart(v[n]) {
		n--
	}
	return v[:n]
}

// nextRune returns the least rune above r that takes no more bytes.
func nextRune(r rune, bytes int) (rune, bool) {
	next := r + 1
	if next == 0xD800 {
		next = 0xE000 // surrogates are no runes
	}
	return next, next <= utf8.MaxRune && utf8.RuneLen(next) <= bytes
}
