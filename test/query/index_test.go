package query_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/signal"
)

// snippets are what random messages and patterns are made of: words that are parts of others, several scripts and cases, signs.
func snippets() []string {
	return []string{
		"error", "Error", "ERR", "err", "u42", "u4242", "4242", "user=u42", "a_b", "a-b", "ab", "é", "É", "straße", "STRASSE", "世界", "世",
		"🙂", " ", " ",
		"  ", "/", "%", "_", ".", "'", "K", "k", "ſ", "Σ", "ς", "10.0.0.1", "timeout", "",
	}
}

// TestIndexChangesNoAnswer compares text conditions in WHERE, which the index prunes, with the same ones in a place where it cannot.
func TestIndexChangesNoAnswer(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{groupRows: 8})
	web := logs("acme", "web")
	random := rand.New(rand.NewPCG(3, 4))
	message := func() string {
		var b strings.Builder
		for range random.IntN(6) {
			b.WriteString(snippets()[random.IntN(len(snippets()))])
			if random.IntN(2) == 0 {
				b.WriteByte(' ')
			}
		}
		return b.String()
	}
	for file := range 6 {
		var rows []row
		for n := range 60 {
			r := row{"row": file*100 + n, "m": message()}
			switch { // a column that some files hold as numbers or JSON
			case file%3 == 1 && n%2 == 0:
				r["w"] = n
			case file%3 == 2 && n%2 == 0:
				r["w"] = jsonText(`["error", "u42"]`)
			case n%3 == 0:
				r["w"] = message()
			}
			rows = append(rows, r)
		}
		s.Write(web, rows...)
		if file < 5 {
			s.Flush() // the last one stays fresh
		}
	}
	literal := func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom(snippets()), 1, 3).Draw(t, "parts")
		return strings.ReplaceAll(strings.Join(parts, rapid.SampledFrom([]string{"", " "}).Draw(t, "glue")), "'", "''")
	}
	condition := func(t *rapid.T) string {
		c := rapid.SampledFrom([]string{"m", "m", "w"}).Draw(t, "column")
		form := rapid.SampledFrom([]string{
			"match(%s, '%s')", "%s = '%s'", "%s LIKE '%%%s%%'", "%s LIKE '%s%%'", "%s LIKE '%%%s'", "%s ILIKE '%% %s %%'", "contains(%s, '%s')",
			"starts_with(%s, '%s')", "%s IN ('%s', 'x')", "NOT contains(%s, '%s')",
		}).Draw(t, "form")
		return fmt.Sprintf(form, c, literal(t))
	}
	rapid.Check(t, func(t *rapid.T) {
		c := condition(t)
		if rapid.Bool().Draw(t, "two") {
			c = "(" + c + ") " + rapid.SampledFrom([]string{"AND", "OR", "AND NOT"}).Draw(t, "and") + " (" + condition(t) + ")"
		}
		pruned, err := s.try(s.t.Context(), request("SELECT row FROM web WHERE "+c))
		whole, err2 := s.try(s.t.Context(), request("SELECT row FROM (SELECT row, ("+c+") AS yes FROM web) WHERE yes"))
		require.Equal(t, err2 == nil, err == nil, "%s: %v, %v", c, err, err2)
		if err == nil {
			require.ElementsMatch(t, whole.rows, pruned.rows, c)
		}
	})
}

// TestIndexSparesRowGroups checks that a rare word reads few row groups, and that a damaged or missing index costs a scan only.
func TestIndexSparesRowGroups(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{groupRows: 100})
	web := logs("acme", "web")
	for file := range 4 {
		var rows []row
		for n := range 1000 {
			rows = append(rows, row{signal.TimeColumn: now, "m": fmt.Sprintf("request r%d of user u%d", file*1000+n, n%7)})
		}
		s.Write(web, rows...)
		s.Flush()
	}
	ask := "SELECT m FROM web WHERE match(m, 'R2345')"
	got, err := s.try(t.Context(), request(ask))
	require.NoError(t, err)
	require.Equal(t, []string{"request r2345 of user u2"}, got.rows)
	stats := got.result.Stats()
	require.EqualValues(t, 3, stats.PrunedBy["index"]+int64(stats.Segments)-1)
	require.LessOrEqual(t, stats.RowGroups-stats.RowGroupsPruned, 3)

	s.mu.Lock()
	for id, object := range s.indexes {
		if id%2 == 0 {
			object[len(object)/2] ^= 1
		} else {
			s.indexes[id] = nil
		}
	}
	s.mu.Unlock()
	got, err = s.try(t.Context(), request(ask))
	require.NoError(t, err)
	require.Equal(t, []string{"request r2345 of user u2"}, got.rows)
	require.Equal(t, 4, got.result.Stats().Segments)
}
