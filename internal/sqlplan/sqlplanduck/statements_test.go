package sqlplanduck_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
)

// statements reads a file of testdata: a statement a line.
func statements(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	var out []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\n"); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// testCase is a statement and the lines after it that begin with >.
type testCase struct {
	sql  string
	want []string
}

// cases reads a file of testdata: statements, each with its expected lines.
func cases(t testing.TB, name string) []testCase {
	t.Helper()
	var out []testCase
	for _, line := range statements(t, name) {
		if want, ok := strings.CutPrefix(line, ">"); ok {
			last := &out[len(out)-1]
			last.want = append(last.want, strings.TrimPrefix(want, " "))
			continue
		}
		out = append(out, testCase{sql: line})
	}
	return out
}

func TestHostileStatementsAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, sql := range statements(t, "hostile.sql") {
		p, err := b.plan(t, sql)
		if err == nil {
			t.Errorf("accepted: %s\n  as %s", sql, p.SQL)
			continue
		}
		if k := fault.KindOf(err); k != fault.Invalid && k != fault.NotFound {
			t.Errorf("%s: kind %v: %v", sql, k, err)
		}
		if strings.Contains(fault.Message(err), "\n") || !strings.Contains(sql, "ms_") && strings.Contains(fault.Message(err), "ms_") {
			t.Errorf("%s: message %q", sql, fault.Message(err))
		}
	}
}

func TestOrdinaryStatementsAnswerAsTheEngineDoes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.toys(t)
	for _, c := range cases(t, "ordinary.sql") {
		sql, direct := c.sql, c.sql
		if len(c.want) > 0 {
			direct = c.want[0]
		}
		got, gotNames, err := b.run(t, sql)
		if err != nil {
			t.Errorf("%s\n  %v", sql, err)
			continue
		}
		want, wantNames, err := b.rows(direct)
		if err != nil {
			t.Errorf("directly: %s\n  %v", direct, err)
			continue
		}
		if !strings.Contains(strings.ToUpper(sql), "ORDER BY") {
			slices.Sort(got)
			slices.Sort(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\n  got  %q\n  want %q", sql, got, want)
		}
		if direct == sql && !slices.Equal(gotNames, wantNames) {
			t.Logf("%s\n  columns %q instead of %q", sql, gotNames, wantNames)
		}
	}
}
