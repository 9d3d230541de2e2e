package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// Order, limit, offset and aliases are those of standard SQL over all rows together, wherever they lie.
func TestCase_Q01(t *testing.T) {
	t.Parallel()
	s := start(t)
	day := time.Now().Add(-24 * time.Hour).Truncate(time.Hour)
	values := rand.New(rand.NewPCG(1, 2)).Perm(100)
	batch := func(from, to int) {
		var body strings.Builder
		for i := from; i < to; i++ {
			at := day.Add(time.Duration(i) * 14 * time.Minute)
			fmt.Fprintf(&body, "{\"_timestamp\":%q,\"v\":%d,\"day\":1}\n", at.Format(time.RFC3339), values[i]+1)
		}
		s.accept(t, "s1", body.String())
	}
	for part := range 5 { // five flushes of two hours' files each, then a half in memory
		batch(part*10, part*10+10)
		s.flush(t)
	}
	batch(50, 100)
	s.stages(t, func(t *testing.T) {
		require.Equal(t, []string{"100", "99", "98"}, s.column(t, "SELECT v FROM s1 ORDER BY v DESC LIMIT 3"))
		require.Equal(t, []string{"-100", "-99", "-98"}, s.column(t, "SELECT v*-1 AS v FROM s1 ORDER BY v LIMIT 3"))
		require.Equal(t, []string{"98", "99", "100"}, s.column(t, "SELECT v FROM s1 ORDER BY v LIMIT 10 OFFSET 97"))
		require.Equal(t, "100", s.one(t, "SELECT count(*) FROM (SELECT v FROM s1 ORDER BY v LIMIT 1000)"))
		times := s.column(t, "SELECT _timestamp FROM s1 ORDER BY _timestamp")
		require.Len(t, times, 100)
		require.True(t, slices.IsSorted(times))
		// A histogram has the buckets that rows fall into, in the order asked for.
		buckets := s.Query(t, "SELECT time_bucket(INTERVAL 2 HOURS, _timestamp) AS t, count(*) AS n FROM s1 WHERE v > 90 "+
			"GROUP BY t ORDER BY t ASC")
		total := 0
		for i, b := range buckets {
			n, err := strconv.Atoi(text(b[1]))
			require.NoError(t, err)
			total += n
			require.True(t, i == 0 || text(buckets[i-1][0]) < text(b[0]))
		}
		require.Equal(t, 10, total)
	})
}

// spin is a statement that runs for hours and needs no memory.
const spin = "SELECT sum(a.v * b.v * c.v * d.v) FROM s1 a, s1 b, s1 c, s1 d"

// numbers stores the integers below n in s1.
func (s store) numbers(t *testing.T, n int) {
	t.Helper()
	var body strings.Builder
	for i := range n {
		fmt.Fprintf(&body, "{\"v\":%d}\n", i)
	}
	s.accept(t, "s1", body.String())
}

// queries returns how many queries of the store's org run in engines, and how many wait for their turn.
func (s store) queries(t *testing.T) (running, waiting float64) {
	t.Helper()
	return s.metric(t, "millstream_sql_engine_running_instances"), s.metric(t, fmt.Sprintf("millstream_query_queue_length{org=%q}", s.Org))
}

// A client that leaves takes its work along, running or waiting; a query past its time says so.
func TestCase_Q03(t *testing.T) {
	t.Parallel()
	s := start(t, "MS_QUERIER_TIMEOUT_SECS", "5", "MS_QUERIER_CONCURRENCY", "2")
	s.numbers(t, 2000)
	idle := s.metric(t, "go_goroutines")

	ctx, leave := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for range 20 {
		asking.Go(func() {
			_, err := s.Ask(ctx, spin)
			if err == nil || !errors.Is(err, context.Canceled) {
				t.Errorf("a cut question ended with %v", err)
			}
		})
	}
	require.NoError(t, mstest.WaitFor(t.Context(), func(context.Context) error {
		running, waiting := s.queries(t)
		if running < 2 || running+waiting < 20 { // a router has its share of the queriers, two places at least
			return fmt.Errorf("%v running, %v waiting", running, waiting)
		}
		return nil
	}))
	leave()
	asking.Wait()
	left := time.Now()
	require.NoError(t, mstest.WaitFor(t.Context(), func(context.Context) error {
		running, waiting := s.queries(t)
		if running+waiting > 0 || s.metric(t, "go_goroutines") > idle+float64(10*s.processes()) {
			return fmt.Errorf("%v running, %v waiting, %v goroutines", running, waiting, s.metric(t, "go_goroutines"))
		}
		return nil
	}))
	t.Logf("all work had ended %v after the clients had left", time.Since(left))
	require.Empty(t, spilled(t, s.DataDir))

	late := s.refusal(t, spin)
	require.Equal(t, http.StatusGatewayTimeout, late.Status)
	require.Contains(t, string(late.Body), "querier.timeout_secs")
	require.Equal(t, "2000", s.one(t, "SELECT count(*) FROM s1"))
}

// spilled lists the files below a data directory that are neither catalog, log nor rows.
func spilled(t *testing.T, dir string) []string {
	t.Helper()
	expected := regexp.MustCompile(`^(LOCK|incarnation|node_id|cipher\.key|quota\.json|catalog\.db.*|(wal|objects|cache)/.*)$`)
	var out []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		name := strings.TrimPrefix(path, dir+"/")
		if err == nil && !d.IsDir() && !expected.MatchString(name) {
			out = append(out, name)
		}
		return nil
	}))
	return out
}

// What needs memory for all rows spills or ends alone; what needs a row does not read them all; others are answered meanwhile.
func TestCase_Q04(t *testing.T) {
	t.Parallel()
	testGreedyQueries(t, 200_000)
}

// testGreedyQueries asks for too much of n rows while another org asks for little.
func testGreedyQueries(t *testing.T, n int) {
	t.Helper()
	s := start(t, "MS_QUERIER_MEMORY_LIMIT", "256MiB", "MS_QUERIER_CONCURRENCY", "2", "MS_INTAKE_FLUSH_INTERVAL_SECS", "1",
		"GOMEMLIMIT", "384MiB") // what the program sets on a machine that has no more than its settings add up to
	began := time.Now()
	s.shop(t, "s1", n)
	s.waitFlushed(t)
	t.Logf("%d rows stored after %v", n, time.Since(began))
	other := s.Server.Client("t2")
	require.Equal(t, http.StatusOK, other.Post(t, "/api/v1/intake/logs/small", `[{"n":1},{"n":2}]`).Status)

	done := make(chan struct{})
	var small sync.WaitGroup
	small.Go(func() {
		var slowest time.Duration
		for asked := 0; ; asked++ {
			select {
			case <-done:
				t.Logf("%d small questions answered, the slowest in %v", asked, slowest)
				return
			default:
			}
			began := time.Now()
			a, err := other.Ask(t.Context(), "SELECT sum(n) FROM small")
			if err != nil || len(a.Rows) != 1 || a.Rows[0][0] != json.Number("3") {
				t.Errorf("a small question got %v, %v", a.Rows, err)
				return
			}
			slowest = max(slowest, time.Since(began))
		}
	})
	before := s.rss(t)
	s.resetPeak(t)
	began = time.Now()
	require.Len(t, s.Query(t, "SELECT * FROM s1 LIMIT 1"), 1)
	t.Logf("one row after %v, memory grew by %d MiB", time.Since(began), (s.peakRSS(t)-before)/mib)
	require.Less(t, s.peakRSS(t)-before, int64(256*mib), "one row needs memory for few")
	for _, statement := range []string{
		"SELECT DISTINCT message FROM s1", "SELECT request_id, count(*) FROM s1 GROUP BY request_id", "SELECT * FROM s1 ORDER BY message",
		"SELECT message FROM s1 WHERE regexp_matches(message, '.*')",
		"SELECT list(a.message) FROM s1 a, s1 b", "SELECT string_agg(a.message, '') FROM s1 a, s1 b",
	} {
		began := time.Now()
		t.Logf("%s: %s after %v, peak %d MiB", statement, s.drain(t, statement), time.Since(began), s.peakRSS(t)/mib)
	}
	close(done)
	small.Wait()
	require.True(t, s.Running())
	t.Logf("%d MiB at the end, %d of them of files", s.rss(t)/mib, memory(t, s.PID(), "RssFile:")/mib)
	require.Less(t, s.peakRSS(t), s.memorySum(t))
}

// drain reads a statement's whole answer, which may end with the error of a limit and with no other, and says how it ended.
func (s store) drain(t *testing.T, statement string) string {
	t.Helper()
	res := s.open(t, statement)
	defer res.Body.Close()
	end, size := []byte(nil), 0
	block := make([]byte, mib)
	for {
		n, err := res.Body.Read(block)
		size += n
		end = append(end, block[:n]...)
		end = end[max(0, len(end)-2000):]
		if err == io.EOF {
			break
		}
		require.NoError(t, err, statement)
	}
	if res.StatusCode == http.StatusOK {
		require.Contains(t, string(end), `"_meta"`, statement)
		if _, problem, ok := strings.Cut(string(end), `"error"`); ok {
			require.Regexp(t, "memory|limit|time", problem, statement)
			return "ended by a limit"
		}
		return fmt.Sprintf("%d MiB", size/mib)
	}
	require.Contains(t, []int{http.StatusBadRequest, http.StatusGatewayTimeout}, res.StatusCode, "%s: %s", statement, end)
	require.Regexp(t, "memory|limit|time", string(end))
	return res.Status
}

// Nothing outside of the org's streams can be read, written or set.
func TestCase_Q05(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.accept(t, "s1", `{"v":1}`)
	secret := filepath.Join(t.TempDir(), "secret.csv")
	require.NoError(t, os.WriteFile(secret, []byte("secret-content\n"), 0o600))
	written := filepath.Join(t.TempDir(), "written")
	for _, statement := range []string{
		"SELECT * FROM read_csv('" + secret + "')", "SELECT * FROM read_text('" + secret + "')", "SELECT * FROM '" + secret + "'",
		"SELECT * FROM 's3://bucket/other/x.parquet'", "SELECT * FROM glob('/*')", "SELECT * FROM parquet_scan('" + s.DataDir + "/objects/*')",
		"COPY (SELECT 1) TO '" + written + "'", "COPY s1 TO '" + written + "'", "EXPORT DATABASE '" + written + "'",
		"ATTACH '" + written + "'", "INSTALL httpfs", "LOAD httpfs", "SET memory_limit = '1GB'", "PRAGMA threads=9", "RESET memory_limit",
		"SELECT getenv('HOME')", "SELECT 1; SELECT 2", "DRO/**/P TABLE s1", "SELECT * FROM /* */ read_/**/csv('" + secret + "')",
		"SELECT current_setting('memory_limit')", "SELECT * FROM duckdb_settings()", "SELECT * FROM information_schema.tables",
		"CREATE TABLE x AS SELECT 1", "CREATE MACRO m() AS 1", "CALL pragma_version()", "DROP TABLE s1", "DELETE FROM s1",
		"INSERT INTO s1 VALUES (1)",
	} {
		refused := s.refusal(t, statement)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound}, refused.Status, statement)
		require.NotContains(t, string(refused.Body), "secret-content")
	}
	require.NoFileExists(t, written)
	require.Equal(t, "1", s.one(t, "SELECT v FROM s1"))
}
