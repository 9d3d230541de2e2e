package words_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/words"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                                nil,
		" .-":                             nil,
		"user_42 logged-in":               {"user_42", "logged", "in"},
		"10.0.0.1:80":                     {"10", "0", "0", "1", "80"},
		"GET /api/v1?x=ß":                 {"GET", "api", "v1", "x", "ß"},
		"接続エラー: 世界, ok":                   {"接続エラー", "世界", "ok"},
		"🚀launch🚀 2nd½":                   {"launch", "2nd½"},
		"cafe\u0301":                      {"cafe"}, // a combining mark is no letter
		"०१२ Ωmega":                       {"०१२", "Ωmega"},
		"a\x00b\nc":                       {"a", "b", "c"},
		"x" + strings.Repeat("y", 10_000): {"x" + strings.Repeat("y", 10_000)},
	} {
		require.Equal(t, want, slices.Collect(words.Of(text)), text)
	}
}

func TestFoldEquatesWhatFiltersEquate(t *testing.T) {
	t.Parallel()
	require.Equal(t, "straße σσσ k", words.Fold("StraßE ΣσΣ K")[:len("straße σσσ k")])
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := words.FoldRune(r)
		require.Equal(t, want, words.FoldRune(unicode.SimpleFold(r)), "%U", r)
		require.Equal(t, want, words.FoldRune(unicode.ToLower(r)), "%U", r)
	}
}

func TestMatchTerms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query    string
		required []string
		yes, no  []string
	}{
		{
			`a "b c" d*`,
			[]string{"a", "b", "c"},
			[]string{"dog: B, c and A", "x a b--c d", "d1\nb c a"},
			[]string{"a c b d", "a bc d", "ab b c d", "a b c e", "a b x c d"},
		},
		{"10.0.0.1", []string{"10", "0", "0", "1"}, []string{"from 10.0.0.1:80", "10-0-0-1"}, []string{"110.0.0.1", "10.0.0.12"}},
		{"世界", []string{"世界"}, []string{"你好, 世界!"}, []string{"你好世界"}},
		{"größe", []string{"größe"}, []string{"GRÖSSE größe", "GRÖßE=1"}, []string{"größer", "grosse"}},
		{"u4242", []string{"u4242"}, []string{"u4242", "(U4242)", "🚀u4242🚀"}, []string{"u42421", "xu4242", "u4242_", "éu4242"}},
		{`"time out"*`, []string{"time"}, []string{"time outs", "Time: OUT"}, []string{"time in", "timeout"}},
		{"a.b*", []string{"a"}, []string{"a bcd"}, []string{"ab"}},
		{"- x ,", []string{"x"}, []string{"x"}, []string{"-"}},
	} {
		terms, err := words.MatchTerms(c.query)
		require.NoError(t, err, c.query)
		var required []string
		for _, term := range terms {
			required = append(required, term.Required...)
		}
		require.Equal(t, c.required, required, c.query)
		for _, text := range c.yes {
			require.True(t, matches(t, terms, text), "%s in %s", c.query, text)
		}
		for _, text := range c.no {
			require.False(t, matches(t, terms, text), "%s in %s", c.query, text)
		}
	}
	for _, query := range []string{"", " ", "-", `"a`, `a "`, `"" *`} {
		_, err := words.MatchTerms(query)
		require.True(t, fault.Is(err, fault.Invalid), query)
	}
}

func matches(t *testing.T, terms []words.Term, text string) bool {
	t.Helper()
	found := true
	for _, term := range terms {
		exact := regexp.MustCompile(term.Pattern).MatchString(text)
		require.True(t, !exact || regexp.MustCompile(term.Hint).MatchString(text), "%s finds something in %q, %s does not",
			term.Pattern, text, term.Hint)
		found = found && exact
	}
	return found
}

func TestLiteralWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"a", "word", "here"}, words.LikeWords("% a word here %", 0))
	require.Empty(t, words.LikeWords("%whole word%", 0))
	require.Equal(t, []string{"mid"}, words.LikeWords("%x mid y%", 0))
	require.Empty(t, words.LikeWords("%u4242%", 0))
	require.Equal(t, []string{"error"}, words.LikeWords("Error at%", 0))
	require.Empty(t, words.LikeWords("error%", 0))
	require.Empty(t, words.LikeWords("%x_y", 0))
	require.Equal(t, []string{"y"}, words.LikeWords("%_ y", 0))
	require.Equal(t, []string{"100", "of", "it"}, words.LikeWords(`%'100\% of it'%`, '\\'))
	require.Equal(t, []string{"a_b"}, words.LikeWords(`% a\_b %`, '\\'))
	require.Equal(t, []string{"whole", "text"}, words.EqualWords("Whole text"))
	require.Equal(t, []string{"b"}, words.ContainsWords("a b c"))
	require.Equal(t, []string{"a", "b"}, words.PrefixWords("a b c"))
	require.Equal(t, []string{"b", "c"}, words.SuffixWords("a b c"))
}

func TestRegexpWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		full    bool
		want    []string
	}{
		{"user u4242 failed", false, []string{"u4242"}},
		{"user u4242 failed", true, []string{"user", "u4242", "failed"}},
		{`\bu4242\b`, false, nil}, // \b is about ASCII: it is there inside of éu4242
		{`[^\p{L}\p{N}_]u4242[^\p{L}\p{N}_]`, false, []string{"u4242"}},
		{`^Error: (disk) full$`, false, []string{"error", "disk", "full"}},
		{`\s+timeout\s+`, false, []string{"timeout"}},
		{`\s*timeout\s*`, false, nil},
		{`(?i) TimeOut `, false, []string{"timeout"}},
		{` (a|b) c `, false, []string{"c"}},
		{` x{2} y `, false, []string{"y"}},
		{` (?: z ){2,3} `, false, []string{"z"}},
		{` a.b `, false, nil},
		{` a\.b `, false, []string{"a", "b"}},
		{`(`, false, nil},
		{`\W+q\W+`, false, nil}, // \W takes letters beyond ASCII
	} {
		require.Equal(t, c.want, words.RegexpWords(c.pattern, c.full), c.pattern)
	}
}

// Words of a pattern are words of every text that it finds: random patterns against random texts.
func TestRegexpWordsNeverDropAMatch(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	pieces := []string{
		"a", "b", "é", " ", "-", ".", "a+", "(?:a b)", "[ -]", "[ a]", "(a|b)", "b?", " *", `\b`,
		"^", "$", "_", `\W`, "(?i)A", "x{2}",
	}
	texts := []string{"a", "b", "é", " ", "-", "A", "_", "x", "\n"}
	for range 20_000 {
		var pattern, text strings.Builder
		for range 1 + rnd.IntN(6) {
			pattern.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		for range rnd.IntN(9) {
			text.WriteString(texts[rnd.IntN(len(texts))])
		}
		re, err := regexp.Compile(pattern.String())
		if err != nil || !re.MatchString(text.String()) {
			continue
		}
		var have []string
		for w := range words.Of(text.String()) {
			have = append(have, words.Fold(w))
		}
		for _, w := range words.RegexpWords(pattern.String(), false) {
			require.Contains(t, have, w, "%q finds %q", pattern.String(), text.String())
		}
	}
}
