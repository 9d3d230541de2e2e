package searchindex

import (
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"github.com/millstream/millstream/internal/words"
)

// maxWord is the longest folded word in bytes that is hashed; a longer one makes its row group match everything.
const maxWord = 1 << 12

// foldTable maps an ASCII byte of words to its folded form and any other byte to 0.
type foldTable [utf8.RuneSelf]byte

func newFoldTable() *foldTable {
	var t foldTable
	for c := range rune(utf8.RuneSelf) {
		if words.IsWord(c) {
			t[c] = byte(words.FoldRune(c))
		}
	}
	return &t
}

// tokenizer cuts texts into words and hashes them.
type tokenizer struct {
	fold *foldTable
	word []byte
}

// each calls visit with the hash of every word of text. It reports false when a word was too long to be hashed.
func (t *tokenizer) each(text []byte, visit func(uint64)) bool {
	complete := true
	t.word = t.word[:0]
	emit := func() {
		switch {
		case len(t.word) > maxWord:
			complete = false
		case len(t.word) > 0:
			visit(xxhash.Sum64(t.word))
		}
		t.word = t.word[:0]
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			if f := t.fold[c]; f != 0 {
				t.word = append(t.word, f)
			} else if len(t.word) > 0 {
				emit()
			}
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		i += n
		if words.IsWord(r) {
			t.word = utf8.AppendRune(t.word, words.FoldRune(r))
		} else {
			emit()
		}
	}
	emit()
	return complete
}

// hashWord returns the hash of a word that is folded already.
func hashWord(folded string) uint64 { return xxhash.Sum64String(folded) }
