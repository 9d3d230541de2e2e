package rowfind

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/sqlplan"
	"github.com/millstream/millstream/internal/words"
)

// TestWordsAsPackageWordsHasThem compares the quick search with cutting the text into words.
func TestWordsAsPackageWordsHasThem(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"u42", "U42", "u4242", "42", "_", "-", " ", "a", "A", "ab", "aba", "K", "k", "ſ", "s", "straße", "STRASSE", "世界", "世", "🙂", "é", "É", "x",
	})
	text := rapid.Map(rapid.SliceOfN(piece, 0, 8), func(p []string) string { return strings.Join(p, "") })
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "text")
		var asked []sqlplan.Word
		want := true
		for range rapid.IntRange(1, 2).Draw(t, "words") {
			w := sqlplan.Word{Text: words.Fold(text.Draw(t, "word")), Prefix: rapid.Bool().Draw(t, "prefix")}
			for one := range words.Of(w.Text) { // a required word is a word
				w.Text = one
				break
			}
			asked = append(asked, w)
			found := false
			for one := range words.Of(s) {
				folded := words.Fold(one)
				found = found || folded == w.Text || w.Prefix && strings.HasPrefix(folded, w.Text)
			}
			want = want && found || want && w.Text == ""
		}
		for _, w := range asked {
			if w.Text == "" || !words.IsWord([]rune(w.Text)[0]) {
				return // not a word
			}
		}
		require.Equal(t, want, newWordTest(asked).contains([]byte(s)), "%q in %q", asked, s)

		// The same among other texts, some rows without a value, with lengths between the texts as in a page.
		v := parquetfile.Values{Rows: 5, Present: []bool{true, false, true, true, false}}
		for row, one := range []string{"4 42 2", "", s, "u4242_ab 42 _", ""} {
			if v.Present[row] {
				v.Texts.Bytes = append(v.Texts.Bytes, "4242"[:rapid.IntRange(0, 4).Draw(t, "between")]...)
				v.Texts.Starts = append(v.Texts.Starts, uint32(len(v.Texts.Bytes)))
				v.Texts.Bytes = append(v.Texts.Bytes, one...)
				v.Texts.Ends = append(v.Texts.Ends, uint32(len(v.Texts.Bytes)))
			} else {
				v.Texts.Starts, v.Texts.Ends = append(v.Texts.Starts, 0), append(v.Texts.Ends, 0)
			}
		}
		c := Condition{Words: asked}
		all := c.texts(nil, []int32{0, 1, 2, 3, 4}, &v)
		require.Equal(t, all, c.texts(nil, nil, &v), "%q among %q", asked, s)
		if run := longestRun(asked); run != "" {
			rows := rapid.SampledFrom([][]int32{{0, 1, 2, 3, 4}, {1, 2, 3}, {0, 3, 4}, {1, 4}, {1}, {}}).Draw(t, "rows")
			got := candidates(nil, rows, &v, candidate{[]byte(run), newWordTest(asked).contains})
			require.Equal(t, c.texts(nil, rows, &v), got, "%q among %q in %v", asked, s, rows)
		}
	})
}

func BenchmarkWords(b *testing.B) {
	text := []byte("081109 203615 148 INFO dfs.DataNode$PacketResponder: 1 for block blk_38865049064139660 terminating")
	for _, word := range []string{"u4242", "failure", "terminating"} {
		b.Run(word, func(b *testing.B) {
			test := newWordTest([]sqlplan.Word{{Text: word}})
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				test.contains(text)
			}
		})
	}
}
