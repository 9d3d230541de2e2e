package sqlplanduck_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/sqlplan"
)

// describe writes what a plan needs of a table in one line.
func describe(t sqlplan.Table) string {
	out := []string{}
	cols := t.Columns.Names
	if t.Columns.All {
		cols = append([]string{"*"}, cols...)
	}
	out = append(out, strings.Join(cols, ","))
	bound := func(micros int64) string {
		if micros == sqlplan.MinTime || micros == sqlplan.MaxTime {
			return ""
		}
		return time.UnixMicro(micros).UTC().Format("01-02T15:04:05.999999")
	}
	if t.Time != (sqlplan.TimeRange{Start: sqlplan.MinTime, End: sqlplan.MaxTime}) {
		out = append(out, "["+bound(t.Time.Start)+" "+bound(t.Time.End)+")")
	}
	for _, p := range t.Predicates {
		var values []string
		for _, v := range p.Values {
			values = append(values, v.Type+" "+v.Text)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Column, p.Op, strings.Join(values, "/"))))
	}
	for _, w := range t.Words {
		var words []string
		for _, x := range w.Words {
			words = append(words, x.Text+map[bool]string{true: "*"}[x.Prefix])
		}
		out = append(out, w.Column+" has "+strings.Join(words, " "))
	}
	if t.TopN != nil {
		out = append(out, fmt.Sprintf("top %d desc=%v filtered=%v", t.TopN.Rows, t.TopN.Descending, t.TopN.Filtered))
	}
	return strings.Join(out, "; ")
}

func TestTablesOfAPlan(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		sql  string
		want []string
	}{
		{"SELECT count(*) FROM nginx", []string{""}},
		{"SELECT host FROM nginx WHERE duration > 5", []string{"duration,host; duration > DOUBLE 5"}},
		{"SELECT * FROM nginx", []string{"*"}},
		{"SELECT n FROM (SELECT count(*) AS n FROM nginx)", []string{""}},
		{"SELECT nginx FROM nginx", []string{"*"}},
		{"SELECT count(n.*) FROM nginx n, spans s", []string{"", ""}},
		{"SELECT s.* FROM nginx n, spans s", []string{"", "*"}},
		{"SELECT COLUMNS('a') FROM nginx", []string{"*"}},
		{"SELECT 1 FROM nginx NATURAL JOIN spans", []string{"*", "*"}},
		{"SELECT 1 FROM nginx JOIN spans USING (host)", []string{"host", "host"}},
		{"SELECT resource.service.name FROM nginx", []string{"resource.service.name"}},
		{"SELECT _timestamp_nanos, _block FROM nginx", []string{"_block,_timestamp_nanos"}},
		// Time.
		{"SELECT 1 FROM nginx WHERE _timestamp >= '2026-03-01'", []string{"_timestamp; [03-01T00:00:00 )"}},
		{"SELECT 1 FROM nginx WHERE _timestamp < TIMESTAMP '2026-03-01'", []string{"_timestamp; [ 03-01T00:00:00.000001)"}},
		{"SELECT 1 FROM nginx WHERE _timestamp > now() - INTERVAL 1 HOUR", []string{"_timestamp; [03-05T11:00:00 )"}},
		{"SELECT 1 FROM nginx WHERE now() > _timestamp AND _timestamp > current_date", []string{"_timestamp; [03-05T00:00:00 03-05T12:00:00.000001)"}},
		{"SELECT 1 FROM nginx WHERE _timestamp = make_timestamp(2026, 3, 1, 0, 0, 0.5)", []string{"_timestamp; [03-01T00:00:00.5 03-01T00:00:00.500001)"}},
		{"SELECT 1 FROM nginx WHERE _timestamp BETWEEN '2026-03-01' AND '2026-03-02 00:00:00+02'", []string{"_timestamp; [03-01T00:00:00 03-01T22:00:00.000001)"}},
		{"SELECT 1 FROM nginx WHERE _timestamp IN ('2026-03-01', '2026-03-03')", []string{"_timestamp; [03-01T00:00:00 03-03T00:00:00.000001)"}},
		{"SELECT 1 FROM nginx WHERE _timestamp::DATE = '2026-03-01'", []string{"_timestamp; [03-01T00:00:00 03-02T00:00:00.000001)"}},
		{"SELECT 1 FROM nginx WHERE date_trunc('month', _timestamp) = '2026-02-01'", []string{"_timestamp; [02-01T00:00:00 03-04T00:00:00.000001)"}},
		{"SELECT 1 FROM nginx WHERE _timestamp > '2026-03-01' AND _timestamp > '2026-03-02'", []string{"_timestamp; [03-02T00:00:00 )"}},
		{"SELECT 1 FROM nginx WHERE _timestamp > '2026-03-04' OR _timestamp > '2026-03-02'", []string{"_timestamp; [03-02T00:00:00 )"}},
		{"SELECT 1 FROM nginx WHERE _timestamp > '2026-03-04' OR level = 'x'", []string{"_timestamp,level"}},
		{"SELECT 1 FROM nginx WHERE NOT _timestamp > '2026-03-04'", []string{"_timestamp; [ 03-04T00:00:00.000001)"}},
		{"SELECT 1 FROM nginx WHERE NOT (_timestamp > '2026-03-04' AND host = 'x')", []string{"_timestamp,host"}},
		{"SELECT 1 FROM nginx WHERE _timestamp > seen", []string{"_timestamp,seen"}},
		{"SELECT 1 FROM nginx WHERE _timestamp > now() - to_seconds(random() * 100)", []string{"_timestamp"}},
		{"SELECT 1 FROM nginx WHERE _timestamp > 'soon'", []string{"_timestamp"}},
		{"SELECT 1 FROM nginx WHERE CASE WHEN _timestamp > '2026-03-01' THEN true END", []string{"_timestamp"}},
		{"SELECT count(*) FILTER (WHERE _timestamp > '2026-03-01') FROM nginx", []string{"_timestamp"}},
		{"SELECT 1 FROM nginx HAVING max(_timestamp) > '2026-03-01'", []string{"_timestamp"}},
		{"SELECT 1 FROM (SELECT * FROM nginx WHERE _timestamp > '2026-03-01')", []string{"*,_timestamp; [03-01T00:00:00 )"}},
		{"SELECT 1 FROM nginx WHERE EXISTS (SELECT 1 FROM spans WHERE nginx._timestamp > '2026-03-01')", []string{"_timestamp", "_timestamp"}},
		{"SELECT 1 FROM nginx WHERE EXISTS (SELECT 1 WHERE _timestamp > '2026-03-01')", []string{"_timestamp"}},
		// Joins.
		{"SELECT 1 FROM nginx a JOIN spans b ON b._timestamp > '2026-03-01' AND a.status = 1", []string{"_timestamp,status; status = BIGINT 1", "_timestamp; [03-01T00:00:00 )"}},
		{"SELECT 1 FROM nginx a LEFT JOIN spans b ON b._timestamp > '2026-03-01' AND a._timestamp > '2026-03-01'", []string{"_timestamp", "_timestamp"}},
		{"SELECT 1 FROM nginx a LEFT JOIN spans b ON true WHERE b._timestamp > '2026-03-01' AND a._timestamp > '2026-03-02'", []string{"_timestamp; [03-02T00:00:00 )", "_timestamp"}},
		{"SELECT 1 FROM nginx a FULL JOIN spans b ON true WHERE a._timestamp > '2026-03-01'", []string{"_timestamp", "_timestamp"}},
		{"SELECT 1 FROM nginx a RIGHT JOIN spans b ON true WHERE a._timestamp > '2026-03-01' AND b._timestamp > '2026-03-02'", []string{"_timestamp", "_timestamp; [03-02T00:00:00 )"}},
		{"SELECT 1 FROM nginx a ASOF JOIN spans b ON a._timestamp >= b._timestamp WHERE b._timestamp > '2026-03-01' AND a._timestamp > '2026-03-02'", []string{"_timestamp; [03-02T00:00:00 )", "_timestamp"}},
		{"SELECT 1 FROM nginx a POSITIONAL JOIN spans b WHERE b._timestamp > '2026-03-01' AND a._timestamp > '2026-03-02'", []string{"_timestamp", "_timestamp"}},
		{"SELECT 1 FROM nginx a, spans b WHERE _timestamp > '2026-03-01'", []string{"_timestamp", "_timestamp"}},
		{"SELECT 1 FROM nginx a, range(3) r WHERE _timestamp > '2026-03-01'", []string{"_timestamp"}},
		{"SELECT * FROM (SELECT * FROM nginx) PIVOT (count(*) FOR level IN ('a')) WHERE _timestamp > '2026-03-01'", []string{"*,_timestamp,level"}},
		// Predicates.
		{"SELECT 1 FROM nginx WHERE status = 200 AND 300 <= status AND status < 400.5", []string{"status; status = BIGINT 200; status >= BIGINT 300"}},
		{"SELECT 1 FROM nginx WHERE status = '200' AND status > 'x'", []string{"status; status = BIGINT 200"}},
		{"SELECT 1 FROM nginx WHERE duration BETWEEN 1 AND 2.5", []string{"duration; duration >= DOUBLE 1; duration <= DOUBLE 2.5"}},
		{"SELECT 1 FROM nginx WHERE status IN (1, 2) AND host IS NOT NULL", []string{"host,status; status IN BIGINT 1/BIGINT 2; host IS NOT NULL"}},
		{"SELECT 1 FROM nginx WHERE status IN (1, NULL) OR host IS NULL", []string{"host,status"}},
		{"SELECT 1 FROM nginx WHERE cached = true AND seen < '2026-03-01'", []string{"cached,seen; cached = BOOLEAN true; seen <= TIMESTAMP WITH TIME ZONE 2026-03-01T00:00:00Z"}},
		{"SELECT 1 FROM nginx WHERE status <> 200 AND NOT status = 300 AND status NOT IN (1)", []string{"status"}},
		{"SELECT 1 FROM nginx WHERE host = 5", []string{"host"}},
		{"SELECT 1 FROM mixed WHERE n > 5 AND n = '7' AND level = 0", []string{"level,n; n = VARCHAR 7; n has 7"}},
		{"SELECT status + 1 AS status FROM nginx WHERE status + 1 = 5", []string{"status"}},
		// Words.
		{"SELECT 1 FROM nginx WHERE message LIKE '% a Word here %'", []string{"message; message has a word here"}},
		{"SELECT 1 FROM nginx WHERE message LIKE '%whole word%'", []string{"message"}},
		{"SELECT 1 FROM nginx WHERE message LIKE 'start %mid mid2 mid%end'", []string{"message; message has start mid2"}},
		{"SELECT 1 FROM nginx WHERE message LIKE '% a_b %'", []string{"message"}},
		{"SELECT 1 FROM nginx WHERE message NOT LIKE '% a %'", []string{"message"}},
		{"SELECT 1 FROM nginx WHERE contains(message, 'x disk full')", []string{"message; message has disk"}},
		{"SELECT 1 FROM nginx WHERE message = 'disk Full'", []string{"message; message = VARCHAR disk Full; message has disk full"}},
		{"SELECT 1 FROM nginx WHERE match(message, 'a \"b c\" d*')", []string{"message; message has a b c d*"}},
		{"SELECT 1 FROM nginx WHERE match(message, 'a') OR match(message, 'b')", []string{"message"}},
		{"SELECT match(message, 'a') FROM nginx", []string{"message"}},
		{"SELECT 1 FROM nginx WHERE message ~ 'a b .*' AND regexp_matches(message, '^x y')", []string{"message; message has a b; message has x"}},
		{"SELECT 1 FROM nginx WHERE message LIKE 'a !%b %' ESCAPE '!'", []string{"message; message has a b"}},
		{"SELECT 1 FROM mixed WHERE n LIKE '% a %'", []string{"n; n has a"}},
		// The first rows.
		{"SELECT * FROM nginx ORDER BY _timestamp DESC LIMIT 100", []string{"*,_timestamp; top 100 desc=true filtered=false"}},
		{"SELECT host FROM nginx n WHERE status = 1 ORDER BY n._timestamp LIMIT 10 OFFSET 5", []string{"_timestamp,host,status; status = BIGINT 1; top 15 desc=false filtered=true"}},
		{"SELECT count(*) FROM nginx ORDER BY _timestamp LIMIT 5", []string{"_timestamp"}},
		{"SELECT DISTINCT host FROM nginx ORDER BY _timestamp LIMIT 5", []string{"_timestamp,host"}},
		{"SELECT host, row_number() OVER () FROM nginx ORDER BY _timestamp LIMIT 5", []string{"_timestamp,host"}},
		{"SELECT seen AS _timestamp FROM nginx ORDER BY _timestamp LIMIT 5", []string{"_timestamp,seen"}},
		{"SELECT host FROM nginx ORDER BY _timestamp, host LIMIT 5", []string{"_timestamp,host"}},
		{"SELECT host FROM nginx ORDER BY _timestamp LIMIT 5%", []string{"_timestamp,host"}},
	} {
		t.Run(c.sql, func(t *testing.T) {
			p, err := b.plan(t, c.sql)
			require.NoError(t, err)
			var got []string
			for i, table := range p.Tables {
				require.Equal(t, fmt.Sprintf("ms_t%d", i), table.Name)
				// A column that differs from another only in case is read with it.
				got = append(got, strings.TrimPrefix(strings.ReplaceAll(describe(table), "Status__2,", ""), "Status__2; "))
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestPlanErrorsPointIntoTheUsersText(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.toys(t)
	for _, c := range []struct {
		sql, want string
		kind      fault.Kind
	}{
		{"SELECT *\nFROM nginxx", `line 2, column 6: unknown stream nginxx; nearest: "nginx", "shop.logs.nginx"`, fault.NotFound},
		{"SELECT * FROM logs.spans", `line 1, column 15: unknown stream logs.spans; nearest: "traces.spans"`, fault.NotFound},
		{"SELECT * FROM nothing", `line 1, column 15: unknown stream nothing`, fault.NotFound},
		{"SELECT * FROM both", `line 1, column 15: syntax error at or near "both"`, fault.Invalid},
		{`SELECT * FROM "both"`, `line 1, column 15: both fits several streams: public.logs.both, public.traces.both`, fault.Invalid},
		{`SELECT 'é', "both".host FROM logs.both, traces.both`, `line 1, column 13: both fits several tables: public.logs.both, public.traces.both`, fault.Invalid},
		{"SELECT\n 'ü', lvel\nFROM nginx", `line 2, column 7: unknown column lvel; nearest: "level"`, fault.Invalid},
		{"SELECT read_csv('x')", `line 1, column 8: function read_csv is not accepted`, fault.Invalid},
		{"SELECT 1,\n  lowe('x')", `line 2, column 3: function lowe is not accepted; nearest: "lower"`, fault.Invalid},
		{"SELECT FROM nginx WHERE", `line 1, column 24: syntax error at end of input`, fault.Invalid},
		{"SELECT 1; SELECT 2", `one statement at a time`, fault.Invalid},
		{"SELECT host FROM nginx WHERE 1 + 'x' = 2", `line 1, column 32: Could not choose a best candidate function for the function call "+(INTEGER_LITERAL, STRING_LITERAL)". In order to select one, please add explicit type casts.`, fault.Invalid},
		{"SELECT sum(host) FROM nginx WHERE true", `line 1, column 8: No function matches the given name and argument types 'sum(VARCHAR)'. You might need to add explicit type casts.`, fault.Invalid},
		{"SELECT nginx.hots FROM nginx", `line 1, column 8: unknown column hots; nearest: "host"`, fault.Invalid},
		{"SELECT CAST(host AS BIGINT) FROM nginx", `line 1, column 8: Could not convert string 'h0' to INT64 when casting from source column host`, fault.Invalid},
		{"WITH a AS (SELECT 1 AS x) SELECT y FROM a", `line 1, column 34: unknown column y`, fault.Invalid},
		{"EXPLAIN SELECT 1", `line 1, column 1: EXPLAIN is not accepted; statements are SELECT, SUMMARIZE, DESCRIBE, SHOW and CREATE, ALTER, DROP DATABASE`, fault.Invalid},
	} {
		t.Run(c.sql, func(t *testing.T) {
			_, _, err := b.run(t, c.sql)
			require.Error(t, err)
			require.Equal(t, c.kind, fault.KindOf(err), err)
			require.Equal(t, c.want, fault.Message(err))
		})
	}
}

func TestLimitKeepsOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.toys(t)
	for sql, want := range map[string]int{
		"SELECT status, host FROM nginx ORDER BY duration DESC":                7,
		"SELECT host FROM nginx ORDER BY duration DESC LIMIT 3":                3,
		"SELECT host FROM nginx ORDER BY duration DESC LIMIT 30":               7,
		"SELECT host FROM nginx ORDER BY duration DESC LIMIT (SELECT 4)":       4,
		"SELECT host FROM nginx ORDER BY duration DESC LIMIT 50%":              7,
		"SELECT host FROM nginx UNION ALL SELECT host FROM spans ORDER BY ALL": 7,
		"SELECT host FROM nginx ORDER BY duration DESC OFFSET 198":             2,
		"SUMMARIZE nginx": 7,
		"VALUES (1), (2)": 2,
	} {
		plain, err := b.plan(t, sql)
		require.NoError(t, err)
		limited, err := b.planWith(t, sql, sqlplan.Binding{Columns: columns(), Now: now(), Limit: 7})
		require.NoError(t, err)
		for _, p := range []*sqlplan.Plan{plain, limited} {
			for _, table := range p.Tables {
				b.exec(t, fmt.Sprintf("CREATE OR REPLACE TEMP VIEW %s AS SELECT * FROM base_%s", table.Name, table.Stream.Name))
			}
		}
		all, _, err := b.rows(plain.SQL)
		require.NoError(t, err)
		got, _, err := b.rows(limited.SQL)
		require.NoError(t, err, limited.SQL)
		require.Len(t, got, want, sql)
		require.Equal(t, all[:want], got, sql)
	}
}

func TestBindIsRepeatable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s, err := b.planner.Parse(context.Background(), "SELECT sum(n), (SELECT max(n) FROM mixed) FROM mixed WHERE n > 3")
	require.NoError(t, err)
	q := s.(*sqlplan.Query)
	_, err = q.Resolve(sqlplan.NewNames("", streams()))
	require.NoError(t, err)
	first, err := q.Bind(context.Background(), sqlplan.Binding{Columns: columns(), Now: now()})
	require.NoError(t, err)
	_, err = q.Bind(context.Background(), sqlplan.Binding{Now: now()})
	require.NoError(t, err)
	again, err := q.Bind(context.Background(), sqlplan.Binding{Columns: columns(), Now: now()})
	require.NoError(t, err)
	require.Equal(t, first.SQL, again.SQL)
	require.Equal(t, first.Tables, again.Tables)
}

// TestDeepStatements checks that nesting is refused or planned, in time that does not explode with it.
func TestDeepStatements(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, n := range []int{50, 200, 3000} {
		for _, sql := range []string{
			"SELECT 1" + strings.Repeat("+1", n),
			"SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
			"SELECT " + strings.Repeat("NOT ", n) + "true",
			"SELECT " + strings.Repeat("[", n) + "1" + strings.Repeat("]", n),
			"SELECT " + strings.Repeat("(SELECT ", n) + "1" + strings.Repeat(")", n),
			strings.Repeat("FROM (", n) + "SELECT 1" + strings.Repeat(")", n),
			"SELECT " + strings.Repeat("CASE WHEN true THEN ", n) + "1" + strings.Repeat(" END", n),
			"SELECT 1 FROM nginx WHERE status = 1" + strings.Repeat(" OR status = 2", n),
			"SELECT 1 FROM nginx WHERE status IN (1" + strings.Repeat(", 2", n) + ")",
			"SELECT 1 FROM nginx" + strings.Repeat(", nginx", n),
			"SELECT " + strings.Repeat("lpad(", n) + "'a'" + strings.Repeat(", 1, 'b')", n),
		} {
			if _, err := b.plan(t, sql); err != nil {
				require.Equal(t, fault.Invalid, fault.KindOf(err), "%.60s: %v", sql, err)
				require.NotContains(t, fault.Message(err), "SET max_expression_depth")
			}
		}
	}
}

// FuzzPlan checks that no text makes planning panic or fail as a defect of ours, and that what is accepted can be parsed again. That only
// generated tables are read is checked by Bind itself, whose failure is fault.Internal.
func FuzzPlan(f *testing.F) {
	for _, name := range []string{"ordinary.sql", "hostile.sql"} {
		for i, sql := range statements(f, name) {
			if i%7 == 0 {
				f.Add(strings.TrimPrefix(sql, "> "))
			}
		}
	}
	b := newBench(f)
	f.Fuzz(func(t *testing.T, sql string) {
		p, err := b.plan(t, sql)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid && fault.KindOf(err) != fault.NotFound && err.Error() != "no query" {
				t.Fatalf("%q: %v", sql, err)
			}
			return
		}
		_, err = b.planner.Parse(context.Background(), p.SQL)
		if err != nil && !strings.Contains(err.Error(), "ms_") {
			t.Fatalf("%q became %q: %v", sql, p.SQL, err)
		}
	})
}
