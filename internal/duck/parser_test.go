package duck_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/fault"
)

func TestSerializeThereAndBack(t *testing.T) {
	t.Parallel()
	p := newPool(t, nil).Parser()
	const sql = "SELECT a, count(*) AS n FROM logs AS l WHERE (l.m ~~ '%ü%') GROUP BY a ORDER BY n DESC LIMIT 3"
	tree, err := p.SerializeSQL(t.Context(), sql)
	require.NoError(t, err)
	var top struct{ Statements []json.RawMessage }
	require.NoError(t, json.Unmarshal(tree, &top))
	require.Len(t, top.Statements, 1)
	back, err := p.DeserializeSQL(t.Context(), tree)
	require.NoError(t, err)
	again, err := p.SerializeSQL(t.Context(), back)
	require.NoError(t, err)
	back2, err := p.DeserializeSQL(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, back, back2)
	_, err = p.DeserializeSQL(t.Context(), []byte(`{"statements":[]}`))
	require.Error(t, err)
	_, err = p.DeserializeSQL(t.Context(), []byte(`nonsense`))
	require.Error(t, err)
}

func TestSyntaxErrorsPointIntoTheText(t *testing.T) {
	t.Parallel()
	p := newPool(t, nil).Parser()
	for _, c := range []struct {
		sql          string
		line, column int
		offset       int
	}{
		{"SELECT é, 'öö' frm x y", 1, 20, 22},
		{"SELECT 1,\n  2 x y", 2, 7, 16},
		{"SELECT (1", 1, 10, 9},
	} {
		_, err := p.SerializeSQL(t.Context(), c.sql)
		require.True(t, fault.Is(err, fault.Invalid), c.sql)
		var se *duck.StatementError
		require.ErrorAs(t, err, &se, c.sql)
		require.Equal(t, []int{c.line, c.column, c.offset}, []int{se.Line, se.Column, se.Offset}, "%s: %s", c.sql, err)
	}
	for _, sql := range []string{
		"DROP TABLE x", "COPY (SELECT 1) TO 'x'", "SELECT \x00 1", "SELECT '\xff'", strings.Repeat("SELECT 1 ", duck.MaxStatementBytes/8),
		"SELECT " + strings.Repeat("(", 100_000), "SELECT " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"SELECT " + strings.Repeat("- ", 50_000) + "1", "SELECT " + strings.Repeat("NOT ", 50_000) + "true",
	} {
		_, err := p.SerializeSQL(t.Context(), sql)
		require.True(t, fault.Is(err, fault.Invalid), "%.50s: %v", sql, err)
	}
	line, column := duck.Position("aü\nb", 4)
	require.Equal(t, []int{2, 1}, []int{line, column})
	line, column = duck.Position("", 10)
	require.Equal(t, []int{1, 1}, []int{line, column})
}

func TestEval(t *testing.T) {
	t.Parallel()
	p := newPool(t, nil).Parser()
	got, err := p.EvalTimestamps(t.Context(), []string{
		"'2026-01-02'", "TIMESTAMPTZ '2026-01-02 01:00:00+01' + INTERVAL 1 MICROSECOND", "NULL", "DATE '1970-01-01'", "'infinity'",
	})
	require.NoError(t, err)
	const day = 1767312000000000
	for k, want := range []int64{day, day + 1, 0, 0, 1<<63 - 1} {
		require.Equal(t, want, got[k].Micros, k)
	}
	require.True(t, got[2].Null)
	got, err = p.Eval(t.Context(), "SELECT 1 + 1, 'a' || 'b', TIMESTAMP_NS '1969-12-31 23:59:59.999999999'")
	require.NoError(t, err)
	require.Equal(t, []duck.Constant{{Type: "INTEGER", Text: "2"}, {Type: "VARCHAR", Text: "ab"}}, got[:2])
	require.EqualValues(t, -1, got[2].Micros)
	_, err = p.EvalTimestamps(t.Context(), []string{"'not a time'"})
	require.True(t, fault.Is(err, fault.Invalid))
	_, err = p.Eval(t.Context(), "SELECT 1 WHERE false")
	require.True(t, fault.Is(err, fault.Invalid))
}

// The parser outlives a caller that leaves in the middle.
func TestParserIsShared(t *testing.T) {
	t.Parallel()
	p := newPool(t, nil).Parser()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				if w%4 == 0 {
					cancel()
				}
				_, err := p.SerializeSQL(ctx, "SELECT 1")
				cancel()
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("serialize: %s", err)
				}
			}
		})
	}
	wg.Wait()
	_, err := p.SerializeSQL(t.Context(), "SELECT 1")
	require.NoError(t, err)
}
