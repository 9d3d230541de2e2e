package query_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func makeDir(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o750))
}

// batches are rows with every type, nulls, a column that changes its type and one that appears late; times span two days.
func batches() [][]row {
	var out [][]row
	for b := range 6 {
		var rows []row
		for i := range 40 {
			n := b*40 + i
			r := row{
				"_timestamp": now.Add(-time.Duration(n) * 13 * time.Minute).Add(time.Duration(n%2) * 7),
				"id":         n, "level": []string{"info", "warn", "error"}[n%3], "host": fmt.Sprintf("h%d", n%5),
				"took": float64(n%17) / 4, "ok": n%2 == 0, "seen": now.Add(time.Duration(n) * time.Second),
				"message": fmt.Sprintf("request %d of user u%d 🙂", n, n%7),
			}
			switch {
			case b < 2:
				r["mixed"] = n % 9
			case b == 2:
				r["mixed"] = fmt.Sprint(n % 9)
			case b == 3:
				r["mixed"] = n%2 == 1
			}
			if b > 3 {
				r["late"] = n
				r["tags"] = jsonText(fmt.Sprintf(`["a",%d]`, n%3))
			}
			rows = append(rows, r)
		}
		out = append(out, rows)
	}
	return out
}

// operators reads the rows in every way that the engine has. Every statement's rows are one multiset whatever order they come in.
func operators() []string {
	return []string{
		"SELECT * FROM web",
		"SELECT id, message FROM web WHERE level = 'error' AND took > 1",
		"SELECT count(*) FROM web",
		"SELECT count(*), count(mixed), count(late), sum(id), min(seen), max(took) FROM web",
		"SELECT level, host, count(*), avg(took) FROM web GROUP BY ALL",
		"SELECT mixed, count(*) FROM web GROUP BY mixed",
		"SELECT id FROM web WHERE mixed = 3",
		"SELECT id FROM web WHERE mixed = 'true' OR mixed > 6",
		"SELECT id, late FROM web WHERE late > 170 ORDER BY late DESC LIMIT 7",
		"SELECT id FROM web WHERE tags IS NOT NULL AND (tags->>1) = '2'",
		"SELECT a.id, b.id FROM web a JOIN web b ON a.id = b.id + 1 WHERE a.level = 'warn'",
		"SELECT a.host, count(*) FROM web a LEFT JOIN web b ON a.id = b.late GROUP BY 1",
		"WITH e AS (SELECT * FROM web WHERE level = 'error') SELECT host, count(*) FROM e GROUP BY 1 " +
			"UNION ALL SELECT level, count(*) FROM e GROUP BY 1",
		"WITH RECURSIVE r(id, n) AS (SELECT id, 0 FROM web WHERE id = 3 " +
			"UNION ALL SELECT w.id, n + 1 FROM web w JOIN r ON w.id = r.id + 5 WHERE n < 20) SELECT * FROM r",
		"SELECT * FROM (PIVOT web ON level IN ('info', 'warn', 'error') USING count(*) GROUP BY host)",
		"SELECT column_name, min, max, count, null_percentage FROM (SUMMARIZE web)",
		"SELECT id, row_number() OVER (PARTITION BY host ORDER BY id) AS n, lag(id) OVER (ORDER BY id) AS before FROM web",
		"SELECT DISTINCT host, level FROM web",
		"SELECT id FROM web WHERE id IN (SELECT late FROM web WHERE late % 2 = 0)",
		"SELECT id FROM web w WHERE EXISTS (SELECT 1 FROM web x WHERE x.id = w.id + 100 AND x.ok)",
		"SELECT _timestamp, id FROM web ORDER BY _timestamp DESC, id LIMIT 10",
		"SELECT id, _timestamp_nanos FROM web WHERE _timestamp_nanos > 0",
		"SELECT date_trunc('hour', _timestamp) AS h, count(*) FROM web GROUP BY h",
		"SELECT id FROM web WHERE _timestamp >= TIMESTAMPTZ '2026-11-29 12:00:00+00' AND _timestamp < TIMESTAMPTZ '2026-11-30 06:00:00+00'",
		"SELECT id FROM web WHERE message LIKE '%user u3 %' AND message LIKE 'request 1%'",
		"SELECT quantile_cont(took, 0.5), count(DISTINCT host), list_sort(list(DISTINCT level)) FROM web",
		"FROM web SELECT max(id) - min(id)",
		"SELECT id FROM web WHERE seen > TIMESTAMPTZ '2026-11-30 12:02:00+00' EXCEPT SELECT late FROM web",
		"SELECT host, id FROM web QUALIFY row_number() OVER (PARTITION BY host ORDER BY id DESC) = 1",
		"SELECT host FROM web GROUP BY host HAVING count(*) > 40",
	}
}

func TestOperatorsOverFreshFlushedAndMixed(t *testing.T) {
	t.Parallel()
	web := logs("acme", "web")
	flushAfter := map[string]func(i int) bool{
		"fresh":       func(int) bool { return false },
		"one flush":   func(i int) bool { return i == 5 },
		"flushes":     func(int) bool { return true },
		"mixed":       func(i int) bool { return i == 1 || i == 3 },
		"mixed early": func(i int) bool { return i == 0 },
	}
	want := map[string]answer{}
	for _, name := range []string{"fresh", "one flush", "flushes", "mixed", "mixed early"} {
		s := newStore(t, storeOptions{})
		for i, rows := range batches() {
			s.Write(web, rows...)
			if flushAfter[name](i) {
				s.Flush()
			}
		}
		for _, statement := range operators() {
			got := s.ask("acme", statement)
			if name == "fresh" {
				want[statement] = got
				require.NotEmpty(t, got.rows, statement)
				continue
			}
			require.Equal(t, want[statement].types, got.types, "%s: %s", name, statement)
			require.Equal(t, want[statement].sorted(), got.sorted(), "%s: %s", name, statement)
			require.Equal(t, want[statement].columns, got.columns, "%s: %s", name, statement)
		}
	}
}
