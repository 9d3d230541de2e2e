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
	for _, c := range cases(t, "tables.txt") {
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
	for _, c := range cases(t, "errors.txt") {
		t.Run(c.sql, func(t *testing.T) {
			_, _, err := b.run(t, strings.ReplaceAll(c.sql, `\n`, "\n"))
			require.Error(t, err)
			require.Equal(t, c.want, []string{fault.KindOf(err).String() + " " + fault.Message(err)}, err)
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
			"SELECT " + strings.Repeat("max(coalesce(", n) + "n" + strings.Repeat(", 'a'))", n) + " FROM mixed",
			"SELECT " + strings.Repeat("match(", n) + "message" + strings.Repeat(", 'a b c')", n) + " FROM nginx",
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
