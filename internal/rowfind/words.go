package rowfind

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/sqlplan"
	"github.com/millstream/millstream/internal/words"
)

// wordTest looks for words in texts, as package words defines them.
type wordTest struct {
	words  []*wanted
	folded []byte
}

// wanted is a word to be found.
type wanted struct {
	text   string // folded
	prefix bool   // longer words that begin so count too
	// In a text of ASCII characters alone the word is looked for by its anchor, the byte that is likely to be the rarest, in both cases.
	ascii        bool
	anchor       int
	lower, upper byte
}

func newWordTest(all []sqlplan.Word) *wordTest {
	t := &wordTest{}
	for _, w := range all {
		x := &wanted{text: w.Text, prefix: w.Prefix, ascii: isASCII([]byte(w.Text))}
		const common = "etaoinsrhldcumfpgwybvkxjqz" // letters of English and of logs, the common ones first; then digits
		best := -1
		for i := range len(w.Text) {
			if at := strings.IndexByte(common, w.Text[i]); at < 0 || at > best {
				x.anchor = i
				if best = at; at < 0 {
					break
				}
			}
		}
		if w.Text != "" {
			x.lower = w.Text[x.anchor]
			x.upper = x.lower
			if 'a' <= x.lower && x.lower <= 'z' {
				x.upper -= 'a' - 'A'
			}
		}
		t.words = append(t.words, x)
	}
	return t
}

// minRun is how long a run must be for longestRun to pay.
const minRun = 2

// longestRun returns the longest run of digits and underscores in the words. Such a run stands in the text as it stands in the word,
// whatever the case of letters, so that it can be looked for in all texts at once.
func longestRun(all []sqlplan.Word) string {
	best := ""
	for _, w := range all {
		start := 0
		for i := 0; i <= len(w.Text); i++ {
			if i < len(w.Text) && (w.Text[i] == '_' || '0' <= w.Text[i] && w.Text[i] <= '9') {
				continue
			}
			if i-start > len(best) {
				best = w.Text[start:i]
			}
			start = i + 1
		}
	}
	return best
}

// manyRows is how many rows must be asked for so that looking through all bytes between the first and the last of them pays.
const manyRows = 64

// candidate is what a text must contain, and the test that one which does must pass.
type candidate struct {
	run  []byte
	pass func([]byte) bool
}

// candidates keeps the rows, of those given or of all when they are nil, that contain the bytes of a run and pass. The texts lie one after
// the other.
func candidates(dst, rows []int32, v *parquetfile.Values, c candidate) []int32 {
	t := &v.Texts
	at, end, asked := 0, len(t.Bytes), 0
	if rows != nil {
		rows = valued(rows, v)
		if len(rows) == 0 {
			return dst
		}
		at, end = int(t.Starts[rows[0]]), int(t.Ends[rows[len(rows)-1]])
	}
	for row := 0; at < end; {
		i := bytes.Index(t.Bytes[at:end], c.run)
		if i < 0 {
			break
		}
		at += i
		for row < v.Rows && int(t.Ends[row]) <= at { // rows without a value end at 0
			row++
		}
		if row == v.Rows {
			break
		}
		if int(t.Starts[row]) > at { // among the lengths between texts
			at++
			continue
		}
		for asked < len(rows) && int(rows[asked]) < row {
			asked++
		}
		if (len(rows) == 0 || asked < len(rows) && int(rows[asked]) == row) && c.pass(t.Entry(row)) {
			dst = append(dst, int32(row))
		}
		at = int(t.Ends[row])
	}
	return dst
}

// valued cuts rows without a value off both ends.
func valued(rows []int32, v *parquetfile.Values) []int32 {
	for len(rows) > 0 && !v.Has(int(rows[0])) {
		rows = rows[1:]
	}
	for len(rows) > 0 && !v.Has(int(rows[len(rows)-1])) {
		rows = rows[:len(rows)-1]
	}
	return rows
}

func isASCII(b []byte) bool {
	const high = 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&high != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// contains reports whether the text contains all the words.
func (t *wordTest) contains(text []byte) bool {
	ascii := isASCII(text)
	for _, w := range t.words {
		switch {
		case !ascii && !t.slow(w, text):
			return false
		case ascii && (!w.ascii || !w.in(text)):
			return false // a word with other characters does not occur among ASCII
		}
	}
	return true
}

// slow cuts a text into its words.
func (t *wordTest) slow(w *wanted, text []byte) bool {
	for word := range words.Of(string(text)) {
		t.folded = words.AppendFold(t.folded[:0], word)
		if w.prefix && bytes.HasPrefix(t.folded, []byte(w.text)) || string(t.folded) == w.text {
			return true
		}
	}
	return false
}

// in looks for the word in a text of ASCII characters.
func (w *wanted) in(text []byte) bool {
	if w.text == "" || w.from(text, w.lower) {
		return true
	}
	return w.upper != w.lower && w.from(text, w.upper)
}

// from looks where the anchor stands in one of its cases.
func (w *wanted) from(text []byte, anchor byte) bool {
	for at := w.anchor; at < len(text); at++ {
		i := bytes.IndexByte(text[at:], anchor)
		if i < 0 {
			return false
		}
		at += i
		if w.at(text, at-w.anchor) {
			return true
		}
	}
	return false
}

// at reports whether the word stands at a place of a text.
func (w *wanted) at(text []byte, start int) bool {
	end := start + len(w.text)
	if end > len(text) || start > 0 && isWordByte(text[start-1]) || !w.prefix && end < len(text) && isWordByte(text[end]) {
		return false
	}
	for i := range len(w.text) {
		c := text[start+i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != w.text[i] {
			return false
		}
	}
	return true
}

func isWordByte(c byte) bool { return words.IsWord(rune(c)) }
