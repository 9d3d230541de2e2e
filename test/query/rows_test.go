package query_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/querier"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// TestRowsOfAFlushUnderWayCountOnce commits between the snapshot of the buffers and that of the catalog, and leaves committed rows in
// the buffers.
func TestRowsOfAFlushUnderWayCountOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	web := logs("acme", "web")
	s.Write(web, row{"n": 1}, row{"n": 2})
	s.onRead = func() {
		s.onRead = nil
		s.commit()
	}
	require.Equal(t, []string{"2|3"}, s.ask("acme", "SELECT count(*), sum(n) FROM web").rows)
	require.Equal(t, []string{"2|3"}, s.ask("acme", "SELECT count(*), sum(n) FROM web").rows)
	s.Write(web, row{"n": 4})
	s.onRead = func() { // a row that comes after the snapshot of the buffers is not in this answer, half a batch never
		s.onRead = nil
		s.Write(web, row{"n": 8})
		s.commit()
	}
	require.Contains(t, [][]string{{"3|7"}, {"4|15"}}, s.ask("acme", "SELECT count(*), sum(n) FROM web").rows)
	s.Flush()
	require.Equal(t, []string{"4|15"}, s.ask("acme", "SELECT count(*), sum(n) FROM web").rows)
}

func TestTimeRangeAndRetention(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{retention: 72 * time.Hour})
	web := logs("acme", "web")
	ages := []time.Duration{0, time.Hour, 25 * time.Hour, 49 * time.Hour, 80 * time.Hour}
	write := func() {
		for i, age := range ages {
			s.Write(web, row{"_timestamp": now.Add(-age), "n": i})
		}
	}
	check := func() {
		require.Equal(t, []string{"0", "1", "2", "3"}, s.ask("acme", "SELECT n FROM web").sorted())
		a, err := s.try(t.Context(), querier.Request{
			Org: "acme", Statement: "SELECT n FROM web", Start: now.Add(-49 * time.Hour), End: now.Add(-time.Hour),
		})
		require.NoError(t, err)
		require.Equal(t, []string{"2", "3"}, a.sorted())
	}
	write()
	check()
	s.Flush()
	check()
	s.ask("acme", "ALTER STREAM web SET 'retention'='2d'")
	require.Equal(t, []string{"0", "1", "2"}, s.ask("acme", "SELECT n FROM web").sorted())
	s.ask("acme", "ALTER DATABASE public SET 'retention'='2h'")
	require.Equal(t, []string{"0", "1"}, s.ask("acme", "SELECT n FROM web").sorted())
	s.clock.Advance(90 * time.Minute)
	a := s.ask("acme", "SELECT n FROM web")
	require.Equal(t, []string{"0"}, a.rows)
	require.EqualValues(t, 4, a.result.Stats().PrunedBy["time"])
	s.ask("acme", "ALTER DATABASE public UNSET 'retention'")
	s.ask("acme", "ALTER STREAM web UNSET 'retention'")
	check()
}

func TestPruning(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	web := logs("acme", "web")
	for i := range 4 {
		s.Write(web,
			row{"n": i * 10, "name": fmt.Sprintf("a%d", i), "f": float64(i), "same": "x", "nan": float64(i)},
			row{"n": i*10 + 5, "name": fmt.Sprintf("b%d", i), "f": float64(i) + .5, "same": "x", "nan": math.NaN()})
		s.Flush()
	}
	s.Write(web, row{"other": 1})
	s.Flush()
	for statement, c := range map[string]struct {
		rows, read int
	}{
		"SELECT n FROM web WHERE n = 15":                           {1, 1},
		"SELECT n FROM web WHERE n > 24":                           {3, 2},
		"SELECT n FROM web WHERE n >= 25 AND n < 30":               {1, 1},
		"SELECT n FROM web WHERE n IN (0, 35)":                     {2, 2},
		"SELECT n FROM web WHERE name = 'a2'":                      {1, 3},
		"SELECT n FROM web WHERE name < 'a1'":                      {1, 1},
		"SELECT n FROM web WHERE f BETWEEN 1.25 AND 2.25":          {2, 2},
		"SELECT n FROM web WHERE nan > 100":                        {4, 4}, // NaN is above all
		"SELECT n FROM web WHERE other IS NOT NULL":                {1, 1},
		"SELECT n FROM web WHERE n IS NULL":                        {1, 5},
		"SELECT n FROM web WHERE NOT n = 15":                       {7, 5},
		"SELECT n FROM web WHERE n = 15 OR name = 'a3'":            {2, 5},
		"SELECT n FROM web WHERE same = 'x'":                       {8, 4},
		"SELECT count(*) FROM web a, web b WHERE a.n=0 AND b.n=35": {1, 2},
	} {
		a := s.ask("acme", statement)
		require.Len(t, a.rows, c.rows, statement)
		require.LessOrEqual(t, a.result.Stats().Segments, c.read, statement)
		require.Equal(t, 5, a.result.Stats().Segments+a.result.Stats().SegmentsPruned, statement)
	}
	require.Equal(t, 1, s.ask("acme", "SELECT n FROM web WHERE n = 15").result.Stats().Segments)
	require.Equal(t, 1, s.ask("acme", "SELECT n FROM web WHERE name < 'a1'").result.Stats().Segments)
}

func TestHiddenColumns(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	web := logs("acme", "web")
	s.Write(web, row{"_timestamp": now.Add(5), "n": 1})
	s.Flush()
	s.Write(web, row{"n": 2})
	s.Flush()
	s.Write(web, row{"_timestamp": now.Add(7), "n": 3})
	require.Equal(t, []string{"_timestamp", "n"}, s.ask("acme", "SELECT * FROM web").columns)
	require.Equal(t, []string{"1|5|true", "2|0|true", "3|7|(null)"},
		s.ask("acme", "SELECT n, _timestamp_nanos, _block > 0 FROM web").sorted())
	require.Equal(t, []string{"_timestamp", "n"}, s.ask("acme", "SELECT * FROM web WHERE _timestamp_nanos = 7").columns)
	require.Equal(t, []string{"3|(null)"}, s.ask("acme", "SELECT count(*), max(_overflow) FROM web").rows)
}

func TestUnknownAndEmptyStreams(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	s.Write(logs("acme", "nginx"), row{"_timestamp": now.Add(-time.Hour), "n": 1})
	s.Flush()
	_, err := s.try(t.Context(), querier.Request{Org: "acme", Statement: "SELECT * FROM ngnix"})
	require.True(t, fault.Is(err, fault.NotFound), err)
	require.Contains(t, fault.Message(err), `"nginx"`)
	_, err = s.try(t.Context(), querier.Request{Org: "other", Statement: "SELECT * FROM nginx"})
	require.True(t, fault.Is(err, fault.NotFound), err)
	require.NotContains(t, fault.Message(err), "nearest")
	a, err := s.try(t.Context(), querier.Request{Org: "acme", Statement: "SELECT * FROM nginx", Start: now})
	require.NoError(t, err)
	require.Equal(t, []string{"_timestamp", "n"}, a.columns)
	require.Empty(t, a.rows)
	_, err = s.try(t.Context(), querier.Request{Org: "acme", Statement: "SELECT m FROM nginx"})
	require.True(t, fault.Is(err, fault.Invalid), err)
	require.NotContains(t, fault.Message(err), "ms_")
}

func TestOrgsWithPatternCharacters(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	orgs := []tenant.ID{"a", "a*", "*", "a.b", "a'b", "(a)", "ab", "!a"}
	for i, org := range orgs {
		s.Write(logs(org, "web"), row{"n": i})
	}
	for range 2 {
		for i, org := range orgs {
			require.Equal(t, []string{fmt.Sprint(i)}, s.ask(org, "SELECT n FROM web").rows, org)
		}
		s.Flush()
	}
}

func TestSeveralSignalsInOneStatement(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	traces := signal.Stream{Org: "acme", Database: signal.DefaultDatabase, Signal: signal.Traces, Name: "spans"}
	s.Write(logs("acme", "web"), row{"trace_id": "t1", "message": "hello"}, row{"trace_id": "t2", "message": "bye"})
	s.Write(traces, row{"trace_id": "t1", "name": "GET"}, row{"trace_id": "t3", "name": "PUT"})
	for range 2 {
		require.Equal(t, []string{"hello|GET"},
			s.ask("acme", "SELECT l.message, t.name FROM logs.web l JOIN traces.spans t USING (trace_id)").rows)
		s.Flush()
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	samples := func(names ...string) {
		b := signal.NewBuilder()
		m := signal.NewMetricBuilder(b)
		for i, name := range names {
			var labels signal.LabelSet
			labels.Add([]byte("host"), fmt.Appendf(nil, "h%d", i))
			labels.Add([]byte("a/b~c"), []byte("x"))
			labels.Add([]byte("value"), []byte("shadowed"))
			m.Append(&signal.Sample{
				Name: []byte(name), Labels: &labels, Nanos: now.UnixNano(), Value: float64(i), HasValue: true, Kind: signal.MetricGauge,
			})
		}
		of := signal.Stream{Org: "acme", Database: signal.DefaultDatabase, Signal: signal.Metrics}
		for _, name := range names {
			x := of
			x.Name = name
			_, err := s.catalog.EnsureStreams(t.Context(), []signal.Stream{x})
			require.NoError(t, err)
		}
		of.Name = names[0]
		s.WriteRecord(of, b.Finish())
	}
	samples("cpu", "mem", "cpu")
	want := []string{"0|h0|x|gauge", "2|h2|x|gauge"}
	const statement = `SELECT value, host, "a/b~c", _kind FROM cpu`
	require.Equal(t, want, s.ask("acme", statement).sorted())
	require.Equal(t, []string{"1|h1"}, s.ask("acme", "SELECT value, host FROM metrics.mem").rows)
	columns := s.ask("acme", "SELECT * FROM cpu").columns
	require.Equal(t, []string{"_timestamp", "value", "a/b~c", "host", "_metric", "_labels"}, columns[:6])
	require.Equal(t, []string{"2|2"}, s.ask("acme", "SELECT c.value, c.value FROM cpu c JOIN cpu d USING (host) WHERE c.value > 1").rows)
	s.publishLabels("cpu", "a/b~c", "host")
	s.Flush()
	require.Equal(t, want, s.ask("acme", statement).sorted())
	require.Equal(t, []string{"_timestamp", "value", "a/b~c", "host", "_metric", "_labels"}, s.ask("acme", "SELECT * FROM cpu").columns[:6])
	require.Equal(t, []string{"shadowed"}, s.ask("acme", "SELECT DISTINCT _labels->>'value' FROM cpu").rows)
	samples("cpu", "mem", "mem", "cpu") // the first is there already
	require.Equal(t, append(want, "3|h3|x|gauge"), s.ask("acme", statement).sorted())
}

func TestCommands(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	s.Write(logs("acme", "web"), row{"n": 1, "m": "x"}, row{"n": "1"})
	require.Equal(t, []string{"public|logs|web"}, s.ask("acme", "SHOW STREAMS").rows)
	require.Equal(t, []string{"public|logs|web"}, s.ask("acme", "SHOW TABLES LIKE 'w%'").rows)
	require.Empty(t, s.ask("other", "SHOW STREAMS").rows)
	for range 2 {
		require.Equal(t, []string{
			"_timestamp|timestamp|_timestamp|timestamp", "m|string|m|string", "n|string|n|int64, string",
		}, s.ask("acme", "DESCRIBE web").rows)
		s.Flush()
	}
	require.Equal(t, []string{"1"}, s.ask("acme", "CREATE DATABASE d WITH ('ingest_rows_rate_limit'='0100')").rows)
	require.Equal(t, []string{"0"}, s.ask("acme", "CREATE DATABASE IF NOT EXISTS d").rows)
	_, err := s.try(t.Context(), querier.Request{Org: "acme", Statement: "CREATE DATABASE d", Change: true})
	require.True(t, fault.Is(err, fault.Conflict), err)
	show := s.ask("acme", "SHOW CREATE DATABASE d")
	require.Equal(t, []string{"Database", "Create Database"}, show.columns)
	require.Equal(t, []string{"d|CREATE DATABASE IF NOT EXISTS d\nWITH(\n  ingest_rows_rate_limit = '100'\n)"}, show.rows)
	require.Equal(t, []string{"0"}, s.ask("acme", "ALTER DATABASE d UNSET 'ingest_rows_rate_limit'").rows)
	require.Equal(t, []string{"d|CREATE DATABASE IF NOT EXISTS d"}, s.ask("acme", "SHOW CREATE DATABASE d").rows)
	require.Equal(t, []string{"d", "public"}, s.ask("acme", "SHOW DATABASES").rows)
	_, err = s.try(t.Context(), querier.Request{Org: "acme", Statement: "ALTER DATABASE x SET 'retention'='1d'", Change: true})
	require.True(t, fault.Is(err, fault.NotFound), err)
	_, err = s.try(t.Context(), querier.Request{Org: "acme", Statement: "DROP DATABASE d"})
	require.True(t, fault.Is(err, fault.Forbidden), err)
	_, err = s.try(t.Context(), querier.Request{Org: "acme", Statement: "DROP DATABASE d", Admin: true})
	require.NoError(t, err)
	require.Equal(t, []string{"public"}, s.ask("acme", "SHOW DATABASES").rows)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{querier: querier.Options{MaxScanRows: 3}})
	web := logs("acme", "web")
	s.Write(web, row{"n": 1}, row{"n": 2})
	s.Flush()
	s.Write(web, row{"n": 3}, row{"n": 4})
	_, err := s.try(t.Context(), querier.Request{Org: "acme", Statement: "SELECT count(*) FROM web"})
	require.True(t, fault.Is(err, fault.Invalid), err)
	require.Contains(t, fault.Message(err), "4 rows, more than the limit of 3")
	s.Flush()
	a, err := s.try(t.Context(), querier.Request{Org: "acme", Statement: "SELECT n FROM web WHERE n > 2 ORDER BY n", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"3"}, a.rows)
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{querier: querier.Options{Timeout: 200 * time.Millisecond}})
	s.Write(logs("acme", "web"), row{"n": 1})
	_, err := s.try(t.Context(), querier.Request{Org: "acme", Statement: endless})
	require.True(t, fault.Is(err, fault.Deadline), err)
	require.Contains(t, fault.Message(err), "querier.timeout_secs")
}

// endless is a statement that nobody waits for.
const endless = "SELECT count(*) FROM web, range(100000) a, range(100000) b, range(1000) c WHERE hash(a.range, b.range, c.range, n) = 7"

func TestCancel(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	s.Write(logs("acme", "web"), row{"n": 1})
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	s.onRead = func() { close(started) }
	done := make(chan error, 1)
	go func() {
		_, err := s.try(ctx, querier.Request{Org: "acme", Statement: endless})
		done <- err
	}()
	<-started
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	s.onRead = nil
	result, err := s.querier.Query(t.Context(), querier.Request{Org: "acme", Statement: "SELECT * FROM web, range(1000000)"})
	require.NoError(t, err)
	batch, err := result.Next(t.Context())
	require.NoError(t, err)
	batch.Release()
	require.NoError(t, result.Close())
	_, err = result.Next(t.Context())
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, result.Close())
}

// TestOrgsTogether runs statements of two orgs at once, one of which asks for more memory than it has.
func TestOrgsTogether(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{engine: func(o *duck.Options) { o.MemoryLimit, o.TempMaxSize, o.Concurrency = 128<<20, 0, 2 }})
	for i, org := range []tenant.ID{"a", "b"} {
		s.Write(logs(org, "web"), row{"org": string(org), "n": i})
		s.Flush()
		s.Write(logs(org, "web"), row{"org": string(org), "n": i + 10})
	}
	var g errgroup.Group
	for _, org := range []tenant.ID{"a", "b"} {
		g.Go(func() error {
			for range 15 {
				a, err := s.try(t.Context(), querier.Request{Org: org, Statement: "SELECT DISTINCT org FROM web"})
				if err != nil || len(a.rows) != 1 || a.rows[0] != string(org) {
					return fmt.Errorf("org %s sees %v: %w", org, a.rows, err)
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		for range 3 {
			_, err := s.try(t.Context(), querier.Request{
				Org: "a", Statement: "SELECT list(hash(x.range) || 'some long text to fill memory with') FROM web, range(100000) x, range(50) y " +
					"GROUP BY x.range",
			})
			if !fault.Is(err, fault.Invalid) {
				return fmt.Errorf("memory bomb: %w", err)
			}
		}
		return nil
	})
	require.NoError(t, g.Wait())
}

func TestWarningsOfLostWriters(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	s.Write(logs("acme", "web"), row{"n": 1})
	s.lost = []string{"node i1 epoch 7 unreachable, rows since T may be missing"}
	require.Equal(t, s.lost, s.ask("acme", "SELECT n FROM web").result.Warnings())
}

// TestFirstRowsReadFewSegments holds answers against those of the same statement with a condition, which reads everything.
func TestFirstRowsReadFewSegments(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	web := logs("acme", "web")
	for i := range 8 { // files of neighbours overlap
		var rows []row
		for j := range 5 {
			n := i*3 + j*2
			rows = append(rows, row{"_timestamp": now.Add(-time.Duration(n) * time.Second), "n": n, "file": i})
		}
		s.Write(web, rows...)
		s.Flush()
	}
	s.Write(web, row{"_timestamp": now.Add(-11500 * time.Millisecond), "n": 1000})
	for _, order := range []string{"DESC", "ASC"} {
		for limit := 1; limit < 42; limit += 3 {
			first := s.ask("acme", fmt.Sprintf("SELECT _timestamp FROM web ORDER BY _timestamp %s LIMIT %d", order, limit))
			all := s.ask("acme", fmt.Sprintf("SELECT _timestamp FROM web WHERE n >= 0 ORDER BY _timestamp %s LIMIT %d", order, limit))
			require.Equal(t, all.rows, first.rows, "%s %d", order, limit)
			if limit == 1 {
				require.LessOrEqual(t, first.result.Stats().Segments, 3)
			}
			ranged, err := s.try(t.Context(), querier.Request{
				Org: "acme", Statement: fmt.Sprintf("SELECT _timestamp FROM web ORDER BY _timestamp %s LIMIT 2", order),
				Start: now.Add(-20 * time.Second), End: now.Add(-time.Duration(limit/4) * time.Second),
			})
			require.NoError(t, err)
			require.Len(t, ranged.rows, 2)
			require.Less(t, ranged.rows[1], now.Add(-time.Duration(limit/4)*time.Second).Format(time.RFC3339))
		}
	}
}

// TestFirstFilteredRows compares the newest and oldest rows that pass a filter, which are looked for range by range, with all of them.
func TestFirstFilteredRows(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{querier: querier.Options{FirstScanRows: 7}})
	web := logs("acme", "web")
	for i := range 12 { // files of neighbours overlap
		var rows []row
		for j := range 5 {
			n := i*3 + j*2
			rows = append(rows, row{"_timestamp": now.Add(-time.Duration(n) * time.Second), "n": n, "odd": n%2 == 1, "rare": n == 30})
		}
		s.Write(web, rows...)
		s.Flush()
	}
	s.Write(web, row{"_timestamp": now.Add(-20500 * time.Millisecond), "n": 1000, "odd": true})
	for _, order := range []string{"DESC", "ASC"} {
		for _, filter := range []string{"odd", "NOT odd", "rare", "n >= 0", "n > 5000"} {
			all := s.ask("acme", "SELECT _timestamp, n FROM web WHERE "+filter+" ORDER BY _timestamp "+order)
			for limit := 1; limit < 70; limit += 3 {
				sql := fmt.Sprintf("SELECT _timestamp, n FROM web WHERE %s ORDER BY _timestamp %s LIMIT %d", filter, order, limit)
				got := s.ask("acme", sql)
				want := all.rows[:min(limit, len(all.rows))]
				require.Equal(t, timesOf(want), timesOf(got.rows), sql)
				require.Subset(t, all.rows, got.rows, sql)
				if limit == 1 && filter == "odd" {
					require.LessOrEqual(t, got.result.Stats().Segments, 4, sql)
				}
				offset := s.ask("acme", sql+" OFFSET 2")
				require.Equal(t, timesOf(all.rows[min(2, len(all.rows)):min(limit+2, len(all.rows))]), timesOf(offset.rows), sql)
			}
		}
	}
}

// timesOf returns the first cell of each row.
func timesOf(rows []string) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i], _, _ = strings.Cut(r, "|")
	}
	return out
}

func TestThousandColumns(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	wide := row{}
	for i := range 1000 {
		wide[fmt.Sprintf("column %d", i)] = i
	}
	for range 3 {
		s.Write(logs("acme", "wide"), wide, wide)
		a := s.ask("acme", "SELECT * FROM wide")
		require.Len(t, a.columns, 1001)
		require.Equal(t, []string{"999|1"}, s.ask("acme", `SELECT DISTINCT "column 999", "column 1" FROM wide`).rows)
		s.Flush()
	}
	require.Len(t, s.ask("acme", "SELECT * FROM wide").rows, 6)
}
