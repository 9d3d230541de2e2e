package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/querier"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// mixedRows makes rows of every type, with gaps, with a column whose type differs from file to file, and with times that repeat.
func mixedRows(random *rand.Rand, file, rows int) []row {
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
	floats := []float64{0, math.Copysign(0, -1), 1.5, -2.25, math.NaN(), math.Inf(1), 42}
	var out []row
	for n := range rows {
		at := now.Add(-time.Duration(file*rows+n/3) * time.Second)
		if n%4 == 0 {
			at = at.Add(time.Duration(random.IntN(2000)) * time.Nanosecond)
		}
		r := row{signal.TimeColumn: at, "row": file*1000 + n, "m": message(), "level": []string{"info", "warn", "error"}[random.IntN(3)]}
		if n%3 > 0 {
			r["i"], r["f"] = random.IntN(7)-3, floats[random.IntN(len(floats))]
		}
		if n%5 > 0 {
			r["b"], r["at"] = random.IntN(2) == 0, now.Add(-time.Duration(random.IntN(5))*time.Hour)
		}
		if n%50 == 7 {
			r["seldom"] = fmt.Sprintf("%032x", random.Uint64N(4))
		}
		switch {
		case file%3 == 1:
			r["w"] = n % 5
		case file%3 == 2 && n%2 == 0:
			r["w"] = jsonText(`["error", "u42"]`)
		case file%3 == 0:
			r["w"] = message()
		}
		out = append(out, r)
	}
	return out
}

func drawLiteral(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom(snippets()), 1, 3).Draw(t, "parts")
	return strings.ReplaceAll(strings.Join(parts, rapid.SampledFrom([]string{"", " "}).Draw(t, "glue")), "'", "''")
}

func drawMoment(t *rapid.T) string {
	at := now.Add(-time.Duration(rapid.IntRange(0, 300).Draw(t, "seconds")) * time.Second)
	return "TIMESTAMPTZ '" + at.Format("2006-01-02 15:04:05.000000+00") + "'"
}

// drawCondition makes conditions of which a search can judge some.
func drawCondition(t *rapid.T) string {
	op := rapid.SampledFrom([]string{"=", "<", "<=", ">", ">=", "<>"}).Draw(t, "op")
	switch rapid.IntRange(0, 11).Draw(t, "what") {
	case 0:
		return fmt.Sprintf("i %s %d", op, rapid.IntRange(-3, 4).Draw(t, "n"))
	case 1:
		return fmt.Sprintf("f %s %s", op, rapid.SampledFrom([]string{"0", "1.5", "-2.25", "42", "0.5"}).Draw(t, "x"))
	case 2:
		return fmt.Sprintf("level %s '%s'", op, rapid.SampledFrom([]string{"info", "warn", "err", "error"}).Draw(t, "level"))
	case 3:
		return fmt.Sprintf("i IN (%d, %d)", rapid.IntRange(-3, 4).Draw(t, "n"), rapid.IntRange(-3, 4).Draw(t, "n"))
	case 4:
		return rapid.SampledFrom([]string{"i", "f", "b", "m", "w", "at", "seldom"}).Draw(t, "column") + " IS NOT NULL"
	case 5:
		return fmt.Sprintf("_timestamp %s %s", op, drawMoment(t))
	case 6:
		return fmt.Sprintf("at %s TIMESTAMPTZ '%s'", op, now.Add(-2*time.Hour).Format("2006-01-02 15:04:05+00"))
	case 7:
		return "b = " + rapid.SampledFrom([]string{"true", "false"}).Draw(t, "b")
	case 8:
		return fmt.Sprintf("seldom = '%032x'", rapid.IntRange(0, 4).Draw(t, "n"))
	default:
		form := rapid.SampledFrom([]string{
			"match(%s, '%s')", "match(%s, '%s*')", "%s = '%s'", "%s LIKE '%%%s%%'", "%s LIKE '%s%%'", "%s ILIKE '%% %s %%'", "contains(%s, '%s')",
			"%s IN ('%s', 'x')", "NOT contains(%s, '%s')",
		}).Draw(t, "form")
		return fmt.Sprintf(form, rapid.SampledFrom([]string{"m", "m", "m", "w"}).Draw(t, "text"), drawLiteral(t))
	}
}

// TestSearchChangesNoAnswer asks random statements three times: with the search for rows in front of the engine, with the engine alone, and
// with the condition in a place where nothing is pruned; before and after the files are merged.
func TestSearchChangesNoAnswer(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{groupRows: 8})
	web := logs("acme", "web")
	random := rand.New(rand.NewPCG(5, 6))
	for file := range 14 {
		s.Write(web, mixedRows(random, file, 40)...)
		if file < 13 {
			s.Flush() // the last one stays fresh
		}
	}
	check := func(t *rapid.T) {
		c := drawCondition(t)
		if rapid.Bool().Draw(t, "two") {
			c = "(" + c + ") " + rapid.SampledFrom([]string{"AND", "AND", "OR", "AND NOT"}).Draw(t, "and") + " (" + drawCondition(t) + ")"
		}
		columns := rapid.SampledFrom([]string{
			"*", "row", "m, w", "_timestamp, _timestamp_nanos, i, f, b, at", "level, seldom, _block",
		}).Draw(t, "columns")
		req := request("SELECT " + columns + " FROM web WHERE " + c)
		if rapid.Bool().Draw(t, "range") {
			req.Start = now.Add(-time.Duration(rapid.IntRange(100, 400).Draw(t, "start")) * time.Second)
			req.End = now.Add(-time.Duration(rapid.IntRange(0, 100).Draw(t, "end")) * time.Second)
		}
		found, err := s.try(s.t.Context(), req)
		engine, err2 := tryAt(s.t.Context(), s.engine, req)
		require.Equal(t, fault.Message(err2), fault.Message(err), req.Statement)
		if err != nil {
			return
		}
		require.Equal(t, engine.columns, found.columns)
		require.Equal(t, engine.types, found.types)
		require.ElementsMatch(t, engine.rows, found.rows, req.Statement)
		req.Statement = "SELECT " + columns + " FROM (SELECT *, _timestamp_nanos, _block, (" + c + ") AS yes FROM web) WHERE yes"
		if columns != "*" {
			whole, err := s.try(s.t.Context(), req)
			require.NoError(t, err)
			require.ElementsMatch(t, whole.rows, found.rows, req.Statement)
		}
		checkFirst(t, s, req, c)
	}
	rapid.Check(t, check)
	before, compactor := len(s.live(web)), s.compactor()
	for range 3 {
		require.NoError(t, compactor.Compact(t.Context()))
	}
	require.Less(t, len(s.live(web)), before)
	rapid.Check(t, check)
}

// checkFirst compares the first rows in time, whose order among equal times is open.
func checkFirst(t *rapid.T, s *store, req querier.Request, condition string) {
	limit, offset := rapid.IntRange(1, 30).Draw(t, "limit"), rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "offset")
	order := rapid.SampledFrom([]string{"DESC", "ASC"}).Draw(t, "order")
	where := " WHERE " + condition
	if rapid.IntRange(0, 5).Draw(t, "no condition") == 0 {
		where = ""
	}
	req.Statement = fmt.Sprintf("SELECT _timestamp, * FROM web%s ORDER BY _timestamp %s LIMIT %d OFFSET %d", where, order, limit, offset)
	found, err := s.try(s.t.Context(), req)
	require.NoError(t, err, req.Statement)
	engine, err := tryAt(s.t.Context(), s.engine, req)
	require.NoError(t, err, req.Statement)
	require.Equal(t, timesOf(engine.rows), timesOf(found.rows), req.Statement)
	req.Statement = "SELECT _timestamp, * FROM web" + where
	all, err := tryAt(s.t.Context(), s.engine, req)
	require.NoError(t, err)
	if len(found.rows) > 0 {
		require.Subset(t, all.rows, found.rows, req.Statement)
	}
}

// TestSearchReadsLittle checks what the statistics say of a search, and that one that finds too much leaves the rows to the engine.
func TestSearchReadsLittle(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{groupRows: 1000})
	web := logs("acme", "web")
	for file := range 4 {
		var rows []row
		for n := range 6000 {
			rows = append(rows, row{
				signal.TimeColumn: now.Add(-time.Duration(file*6000+n) * time.Millisecond), "n": file*6000 + n,
				"m": fmt.Sprintf("request r%d of user u%d", file*6000+n, n%7), "even": fmt.Sprint(n%2 == 0),
			})
		}
		s.Write(web, rows...)
		s.Flush()
	}
	for sql, most := range map[string]int{
		"SELECT * FROM web WHERE match(m, 'R2345')":                                      3,
		"SELECT * FROM web WHERE n = 4242":                                               1,
		"SELECT m FROM web ORDER BY _timestamp DESC LIMIT 5":                             2,
		"SELECT m FROM web WHERE even = 'true' ORDER BY _timestamp LIMIT 5":              2,
		"SELECT count(*) FROM web WHERE even = 'true' AND n BETWEEN 100 AND 120":         2,
		"SELECT n FROM web WHERE m LIKE '%u3' ORDER BY _timestamp DESC LIMIT 5":          30,
		"SELECT a.n FROM web a JOIN web b USING (n) WHERE a.n = 7 AND b.m LIKE '% of %'": 30,
	} {
		found := s.ask("acme", sql)
		engine, err := tryAt(t.Context(), s.engine, request(sql))
		require.NoError(t, err)
		require.ElementsMatch(t, engine.rows, found.rows, sql)
		stats := found.result.Stats()
		require.LessOrEqual(t, stats.RowGroups-stats.RowGroupsPruned, most, sql)
		require.LessOrEqual(t, stats.ScannedBytes, engine.result.Stats().ScannedBytes, sql)
	}
	found := s.ask("acme", "SELECT count(*), sum(n) FROM web WHERE even = 'true'")
	require.Equal(t, []string{"12000|143988000"}, found.rows)
	require.EqualValues(t, 24000, found.result.Stats().ScannedRows)
}

// TestSearchFailsOnDamage damages a row group: both ways fail alike, and other row groups can still be read.
func TestSearchFailsOnDamage(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{groupRows: 100})
	web := logs("acme", "web")
	var rows []row
	for n := range 400 {
		rows = append(rows, row{signal.TimeColumn: now.Add(time.Duration(n) * time.Second), "m": fmt.Sprintf("request r%d", n), "n": n})
	}
	s.Write(web, rows...)
	s.Flush()
	segment := s.live(web)[0]
	damage(t, filepath.Join(s.dir, "objects", segment.Key), 1)
	for _, sql := range []string{
		"SELECT * FROM web WHERE n = 150", "SELECT * FROM web WHERE match(m, 'r150')", "SELECT m FROM web ORDER BY _timestamp LIMIT 150",
	} {
		_, err := s.try(t.Context(), request(sql))
		_, err2 := tryAt(t.Context(), s.engine, request(sql))
		require.Error(t, err, sql)
		require.Error(t, err2, sql)
		require.Equal(t, fault.Corrupt, fault.KindOf(err), sql)
	}
	require.Len(t, s.ask("acme", "SELECT * FROM web WHERE n = 350").rows, 1)
}

// TestCountComesFromTheCatalog compares counts of everything with the engine's, over files and fresh rows, within a time and without.
func TestCountComesFromTheCatalog(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{groupRows: 10, retention: time.Hour})
	random := rand.New(rand.NewPCG(7, 8))
	for file := range 4 {
		s.Write(logs("acme", "web"), mixedRows(random, file, 30)...)
		s.Write(logs("umbrella", "web"), mixedRows(random, file, 10)...)
		if file < 3 {
			s.Flush()
		}
	}
	for sql, segments := range map[string]int{
		"SELECT count(*) FROM web": 0, "SELECT COUNT(*) AS n FROM web": 0, `SELECT count() "a b" FROM web`: 0, "SELECT count(*) FROM web AS x": 0,
		"SELECT count(*) FROM web HAVING count(*) > 1000": 1, "SELECT count(*) FROM web LIMIT 0": 1, "SELECT count(*) + 1 FROM web": 1,
		"SELECT count(*) FILTER (WHERE row > 5) FROM web": 1, "SELECT count(*) FROM web GROUP BY level": 1, "SELECT count(row) FROM web": 1,
		"SELECT count(*) FROM web a, web b": 1, "WITH web AS (SELECT 1) SELECT count(*) FROM web": 0,
		"SELECT count(*) FROM (SELECT * FROM web)": 1,
		"SELECT count(*) OVER () FROM web":         1, "SELECT DISTINCT count(*) FROM web": 1, "SELECT count(*), count(*) FROM web": 1,
	} {
		for _, req := range []querier.Request{
			request(sql),
			{Org: "acme", Statement: sql, Start: now.Add(-25 * time.Second), End: now.Add(-7 * time.Second)},
			{Org: "acme", Statement: sql, Start: now.Add(-2 * time.Hour), End: now.Add(time.Second)},
			{Org: "acme", Statement: sql, Limit: 1000},
			{Org: "acme", Orgs: []tenant.ID{"acme", "umbrella"}, Statement: sql},
		} {
			got, err := s.try(t.Context(), req)
			require.NoError(t, err, sql)
			want, err := tryAt(t.Context(), s.engine, req)
			require.NoError(t, err, sql)
			require.ElementsMatch(t, want.rows, got.rows, sql)
			require.Equal(t, want.columns, got.columns, sql)
			require.Equal(t, want.types, got.types, sql)
			if req.Start.IsZero() {
				require.Equal(t, segments > 0, got.result.Stats().Segments > 0, sql)
			}
		}
	}
	s.clock.Advance(time.Hour - 20*time.Second) // a part of the rows has expired
	got, err := s.try(t.Context(), request("SELECT count(*) FROM web"))
	require.NoError(t, err)
	want, err := tryAt(t.Context(), s.engine, request("SELECT count(*) FROM web"))
	require.NoError(t, err)
	require.Equal(t, want.rows, got.rows)
}
