package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// Integers and floats of one field stand side by side, none refused, none rounded.
func TestCase_S01(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.accept(t, "s1", `{"t":0.7}`)
	s.accept(t, "s2", `{"v":1}`)
	s.flush(t)
	s.accept(t, "s1", "{\"t\":0}\n{\"t\":9007199254740993}")
	s.accept(t, "s2", `{"v":1.5}`)
	s.stages(t, func(t *testing.T) {
		require.ElementsMatch(t, []string{"0.7", "0", "9007199254740993"}, s.column(t, "SELECT t FROM s1"))
		require.Equal(t, "2", s.one(t, "SELECT count(*) FROM s1 WHERE t < 1"))
		require.Equal(t, "1", s.one(t, "SELECT count(*) FROM s1 WHERE t > 9007199254740000"))
		require.Equal(t, "1.5", s.one(t, "SELECT max(v) FROM s2"))
		require.Equal(t, "2.5", s.one(t, "SELECT sum(v) FROM s2"))
	})
}

// One field of seven types: all rows are there, whatever the order and whichever intake took them.
func TestCase_S02(t *testing.T) {
	t.Parallel()
	s := start(t)
	objects := []string{`{"level":false}`, `{"level":"false"}`, `{"level":0}`, `{"level":null}`, `{"level":[1]}`, `{"level":{"x":1}}`}
	backwards := slices.Clone(objects)
	slices.Reverse(backwards)
	streams := map[string][]string{"forwards": objects, "backwards": backwards, "bulk": objects}
	for stream := range streams {
		s.accept(t, stream, `{"level":3.0}`)
	}
	s.flush(t)
	for stream, rows := range streams {
		if stream != "bulk" {
			s.accept(t, stream, strings.Join(rows, "\n"))
			continue
		}
		body := "{\"index\":{}}\n" + strings.Join(rows, "\n{\"index\":{}}\n") + "\n"
		res := s.Post(t, "/bulk/_bulk", body)
		require.Equal(t, http.StatusOK, res.Status)
		require.Contains(t, string(res.Body), `"errors":false`, "%s", res.Body)
	}
	s.stages(t, func(t *testing.T) {
		for stream := range streams {
			require.Equal(t, "7", s.one(t, "SELECT count(*) FROM "+stream), stream)
			want := []string{"3.0", "false", "false", "0", "null", "[1]", "null"}
			require.ElementsMatch(t, want, s.column(t, "SELECT level FROM "+stream), stream)
			require.Equal(t, "1", s.one(t, `SELECT "level.x" FROM `+stream+` WHERE "level.x" IS NOT NULL`), stream)
			require.Equal(t, []string{"0"}, s.column(t, "SELECT level FROM "+stream+" WHERE level = 0"), stream)
			require.Equal(t, []string{"false", "false"}, s.column(t, "SELECT level FROM "+stream+" WHERE level = 'false'"), stream)
			require.Len(t, s.Query(t, "SELECT * FROM "+stream), 7, stream)
		}
	})
}

// Files of one stream disagree about a column: every question has the same answer at every step, with a file a row and with all of them
// merged into one.
func TestCase_S03(t *testing.T) {
	t.Parallel()
	s := start(t, "MS_INTAKE_FLUSH_INTERVAL_SECS", "1", "MS_COMPACTOR_INTERVAL_SECS", lazily)
	at := time.Now().Add(-72 * time.Hour).UnixNano() // a day that is over, of which two files are worth a merge
	rows := []string{`"c":null`, `"c":["a"]`, `"c":7`, `"c":"GB80X"`, `"d":1`}
	want := []string{"null", `["a"]`, "7", "GB80X", "null"}
	check := func(t *testing.T, n int) {
		t.Helper()
		require.Equal(t, want[:n], s.column(t, "SELECT c FROM s1 ORDER BY i"))
		for filter, most := range map[string]int{"c = '7'": 1, "c = 'GB80X'": 1, "c > 6": 1, "c LIKE 'GB%'": 1, "c IS NULL": 2} {
			rows := s.Query(t, "SELECT i FROM s1 WHERE "+filter)
			require.LessOrEqual(t, len(rows), most, filter)
			if n == len(want) {
				require.Len(t, rows, most, filter)
			}
		}
	}
	for i, row := range rows {
		s.accept(t, "s1", fmt.Sprintf(`{"_timestamp":%d,"i":%d,%s}`, at, i, row))
		if i > 0 {
			check(t, i+1)
		}
		s.waitFlushed(t)
		require.Equal(t, i+1, s.segments(t, "s1"))
		if i > 0 {
			check(t, i+1)
		}
	}
	s.set("MS_COMPACTOR_INTERVAL_SECS", "1")
	s.crash(t)
	require.NoError(t, mstest.WaitFor(t.Context(), func(context.Context) error {
		check(t, len(rows))
		if n := s.segments(t, "s1"); n > 1 {
			return fmt.Errorf("%d segments", n)
		}
		return nil
	}), "the files are merged")
	require.InDelta(t, len(rows), s.metric(t, "millstream_compactor_merged_segments_total"), 0)
	check(t, len(rows))
	s.crash(t)
	check(t, len(rows))
	require.Equal(t, 1, s.segments(t, "s1"))
	s.flush(t)
	check(t, len(rows))
}

// A million distinct names do not make a million columns: those beyond the cap can be read back from the overflow.
func TestColumnsBeyondTheCapOverflow(t *testing.T) {
	t.Parallel()
	s := start(t, "MS_LIMITS_MAX_COLUMNS_PER_STREAM", "20")
	for batch := range 3 {
		var body strings.Builder
		for i := range 15 {
			fmt.Fprintf(&body, "{\"k%d\":%d}\n", batch*15+i, i)
		}
		s.accept(t, "s1", body.String())
	}
	s.stages(t, func(t *testing.T) {
		a, err := s.Ask(t.Context(), "SELECT * FROM s1")
		require.NoError(t, err)
		require.Len(t, a.Rows, 45)
		require.LessOrEqual(t, len(a.Columns), 22)
		require.Equal(t, "1", s.one(t, "SELECT count(*) FROM s1 WHERE json_extract_string(_overflow, '$.k44') = '14'"))
	})
}
