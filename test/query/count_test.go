package query_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// countedStore has rows whose values are repeated, with gaps, with a column whose type differs from file to file, and a last file that
// stays in the buffer.
func countedStore(t *testing.T) *store {
	t.Helper()
	s := newStore(t, storeOptions{groupRows: 256})
	web := logs("acme", "web")
	random := rand.New(rand.NewPCG(7, 8))
	for file := range 8 {
		var rows []row
		for n := range 600 {
			r := row{
				signal.TimeColumn: now.Add(-time.Duration(file*600+n) * 700 * time.Millisecond),
				"level":           []string{"info", "warn", "error", "Straße", ""}[random.IntN(5)],
				"host":            fmt.Sprintf("host-%d", random.IntN(6)), "status": 200 + 100*random.IntN(4), "ok": random.IntN(3) == 0,
			}
			if n%3 == 0 {
				r["zone"], r["load"] = fmt.Sprintf("zone-%d", random.IntN(2)), float64(random.IntN(4))/2
			}
			switch file % 3 {
			case 1:
				r["mixed"] = n % 4
			case 2:
				r["mixed"] = fmt.Sprint(n % 4)
			}
			if file > 3 {
				r["late"] = "since " + fmt.Sprint(n%2)
			}
			rows = append(rows, r)
		}
		s.Write(web, rows...)
		if file < 7 {
			s.Flush()
		}
	}
	return s
}

// drawKey makes an expression to group by.
func drawKey(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"level", "host", "status", "ok", "zone", "load", "mixed", "late", "upper(level)", "status // 100", "coalesce(zone, 'none')",
		"date_trunc('minute', _timestamp)", "date_trunc('hour', _timestamp)", "date_trunc('second', _timestamp)",
		"time_bucket(INTERVAL '5 minutes', _timestamp)", "time_bucket(INTERVAL 90 SECOND, _timestamp)", "extract('minute' FROM _timestamp)",
	}).Draw(t, "key")
}

func drawAggregate(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"count(*)", "count(*)", "count(*) AS n", "count()", "count(zone)", "count(DISTINCT host)", "min(status)", "max(level)", "bool_or(ok)",
		"count(*) FILTER (WHERE level = 'error')", "count(load) FILTER (WHERE ok)", "count(*) * 2 + 1", "100 * count(zone) / count(*)",
		"sum(status)", "avg(load)", "count(*) FILTER (WHERE zone IS NULL)",
	}).Draw(t, "aggregate")
}

func drawCounted(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"level = 'error'", "level <> 'info'", "host IN ('host-1', 'host-2')", "status >= 300", "ok", "NOT ok", "zone IS NULL", "load < 1",
		"mixed = 2", "mixed = '2'", "late LIKE 'since%'", "match(level, 'STRASSE')", "regexp_matches(host, '[13]$')",
		"level = '' OR zone = 'zone-0'",
		"false", "_timestamp = " + drawMoment(t), "date_trunc('hour', _timestamp) >= " + drawMoment(t),
		"_timestamp > " + drawMoment(t), "_timestamp <= " + drawMoment(t), "_timestamp >= " + drawMoment(t), "_timestamp < " + drawMoment(t),
		"_timestamp BETWEEN " + drawMoment(t) + " AND " + drawMoment(t), drawMoment(t) + " < _timestamp",
		"_timestamp >= now() - INTERVAL 20 MINUTE",
	}).Draw(t, "condition")
}

// TestCountingChangesNoAnswer asks random statements in groups twice: with rows counted in front of the engine and with the engine alone,
// before and after the files are merged.
func TestCountingChangesNoAnswer(t *testing.T) {
	t.Parallel()
	s := countedStore(t)
	counted := 0
	check := func(t *rapid.T) {
		var items, keys []string
		for i := range rapid.IntRange(0, 3).Draw(t, "keys") {
			keys = append(keys, fmt.Sprint(i+1))
			items = append(items, drawKey(t))
		}
		for range rapid.IntRange(1, 2).Draw(t, "aggregates") {
			items = append(items, drawAggregate(t))
		}
		sql := "SELECT " + strings.Join(items, ", ") + " FROM web"
		var where []string
		for range rapid.IntRange(0, 2).Draw(t, "conditions") {
			where = append(where, "("+drawCounted(t)+")")
		}
		if len(where) > 0 {
			sql += " WHERE " + strings.Join(where, " AND ")
		}
		if len(keys) > 0 {
			sql += " GROUP BY " + rapid.SampledFrom([]string{strings.Join(keys, ", "), "ALL", strings.Join(keys, ", ")}).Draw(t, "by")
			sql += rapid.SampledFrom([]string{"", "", " HAVING count(*) > 30", " HAVING count(zone) > 5"}).Draw(t, "having")
		}
		req := request(sql)
		if rapid.Bool().Draw(t, "range") {
			req.Start = now.Add(-time.Duration(rapid.IntRange(100, 4000).Draw(t, "start")) * time.Second)
			req.End = now.Add(-time.Duration(rapid.IntRange(0, 1000).Draw(t, "end")) * 100 * time.Millisecond)
		}
		found, err := s.try(s.t.Context(), req)
		engine, err2 := tryAt(s.t.Context(), s.engine, req)
		require.Equal(t, fault.Message(err2), fault.Message(err), req.Statement)
		if err != nil {
			return
		}
		require.Equal(t, engine.columns, found.columns, req.Statement)
		require.Equal(t, engine.types, found.types, req.Statement)
		require.ElementsMatch(t, engine.rows, found.rows, req.Statement)
		if found.result.Stats().ScannedBytes < engine.result.Stats().ScannedBytes {
			counted++
		}
	}
	rapid.Check(t, check)
	require.NotZero(t, counted, "nothing was counted")
	compactor := s.compactor()
	for range 3 {
		require.NoError(t, compactor.Compact(t.Context()))
	}
	rapid.Check(t, check)
}

// TestTheCountColumnIsHidden uses the name of the column that says how many rows there are, as an alias and as if it were a column.
func TestTheCountColumnIsHidden(t *testing.T) {
	t.Parallel()
	s := countedStore(t)
	for _, sql := range []string{
		"SELECT status AS _rows, count(*) AS n FROM web WHERE _rows = 500 GROUP BY status",
		"SELECT status AS _rows, _rows + 1 AS next, count(*) FROM web GROUP BY ALL", "SELECT max(_rows), count(*) FROM web",
		"SELECT _rows, count(*) FROM web GROUP BY _rows", "SELECT web._rows FROM web GROUP BY ALL",
		"SELECT count(*) FROM web HAVING max(_ROWS) > 1",
		"SELECT level AS _rows, count(*) FROM web GROUP BY _rows ORDER BY _rows",
	} {
		found, err := s.try(t.Context(), request(sql))
		engine, err2 := tryAt(t.Context(), s.engine, request(sql))
		require.Equal(t, fault.Message(err2), fault.Message(err), sql)
		if err == nil {
			require.ElementsMatch(t, engine.rows, found.rows, sql)
		}
	}
}

// TestCountsThatNeedNoRows asks for what the catalog knows.
func TestCountsThatNeedNoRows(t *testing.T) {
	t.Parallel()
	s := countedStore(t)
	for sql, rows := range map[string][]string{
		"SELECT count(*) FROM web":                           {"4800"},
		"SELECT count(*) + 1 AS more, count() FROM web":      {"4801|4800"},
		"SELECT count(*) FROM web HAVING count(*) > 1000000": nil,
	} {
		found := s.ask("acme", sql)
		require.Equal(t, rows, found.rows, sql)
		require.Zero(t, found.result.Stats().ScannedBytes, sql)
		require.EqualValues(t, 600, found.result.Stats().ScannedRows, "those of the buffer: %s", sql)
	}
	found := s.ask("acme", "SELECT DISTINCT level FROM web ORDER BY ALL LIMIT 2")
	require.Equal(t, []string{"", "Straße"}, found.rows)
	found = s.ask("acme", "SELECT count(*) FROM web")
	require.Equal(t, []string{"count_star()"}, found.columns)
}
