package cluster_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mscluster"
	"github.com/millstream/millstream/internal/testkit/mstest"
)

// sample returns a metric's value, -1 if there is none.
func sample(t *testing.T, n *mscluster.Node, series string) float64 {
	t.Helper()
	text := string(n.Client("").Get(t, "/metrics").Body)
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		return -1
	}
	v, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return v
}

// ask returns the rows of a statement from start to end as JSON.
func ask(t *testing.T, client mstest.Client, statement string, start, end time.Time) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{
		"statement": statement, "start": start.Format(time.RFC3339), "end": end.Format(time.RFC3339),
	})
	require.NoError(t, err)
	res := client.Post(t, "/api/v1/query", string(body))
	require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
	var out struct {
		Columns json.RawMessage `json:"columns"`
		Rows    json.RawMessage `json:"rows"`
	}
	require.NoError(t, json.Unmarshal(res.Body, &out))
	return string(out.Columns) + string(out.Rows)
}

// TestQueriesInParts asks two routers, of which one splits queries, over two queriers: answers are the same. Each router hands out its
// share of the queriers' slots.
func TestQueriesInParts(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, mscluster.Layout{
		Routers: 1, Intakes: 1, Queriers: 2, Env: map[string]string{"MS_QUERIER_CONCURRENCY": "3", "MS_INTAKE_FLUSH_INTERVAL_SECS": "1"},
	})
	splits := c.New(t, "r2", "router")
	splits.Set("MS_LIMITS_SPLIT_QUERIES_BY_INTERVAL", "1h")
	require.NoError(t, splits.Start(t.Context()))
	c.Routers = append(c.Routers, splits)
	c.WaitMembers(t)
	share := func() bool { return sample(t, splits, "millstream_query_queue_capacity") == 3 }
	require.Eventually(t, share, time.Minute, 100*time.Millisecond, "two queriers of three slots, two routers")

	begin := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var b strings.Builder
	for i := range 600 {
		fmt.Fprintf(&b, `{"_timestamp":%q,"n":%d,"level":%q}`+"\n", begin.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), i,
			[]string{"info", "warn", "error"}[i%3])
	}
	res := splits.Client("t1").Post(t, "/api/v1/intake/logs/app", b.String(), "Content-Type", "application/x-ndjson")
	require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
	for statement, parts := range map[string]float64{
		"SELECT level, count(*), sum(n), avg(n), min(n), max(_timestamp) FROM app GROUP BY level ORDER BY level": 10,
		"SELECT date_trunc('hour', _timestamp) AS h, count(*) FROM app GROUP BY h ORDER BY h DESC LIMIT 3":       10,
		"SELECT n FROM app ORDER BY _timestamp DESC LIMIT 30":                                                    1,
		"SELECT level, count(*) AS c FROM app GROUP BY level HAVING c > 3 ORDER BY 1":                            0,
		"SELECT level, count(*) FROM app GROUP BY level HAVING max(n) > 598 OR level = 'info' ORDER BY sum(n)":   10,
		"SELECT n FROM app ORDER BY _timestamp DESC LIMIT 30 OFFSET 100":                                         6, // 1, 2, 4 at once
		"SELECT median(n) FROM app": 0,
	} {
		before := sample(t, splits, "millstream_query_parts_total")
		got := ask(t, splits.Client("t1"), statement, begin, begin.Add(10*time.Hour))
		require.Equal(t, ask(t, c.Routers[0].Client("t1"), statement, begin, begin.Add(10*time.Hour)), got, statement)
		require.InDelta(t, parts, sample(t, splits, "millstream_query_parts_total")-before, 1, statement)
	}
	form := url.Values{"query": {"vector(1) + time()"}, "start": {"0"}, "end": {"36000"}, "step": {"600"}}.Encode()
	before := sample(t, splits, "millstream_query_parts_total")
	got := splits.Client("t1").Get(t, "/prometheus/api/v1/query_range?"+form)
	require.Equal(t, string(c.Routers[0].Client("t1").Get(t, "/prometheus/api/v1/query_range?"+form).Body), string(got.Body))
	require.InDelta(t, 11, sample(t, splits, "millstream_query_parts_total")-before, 0)
	require.Greater(t, sample(t, splits, `millstream_query_queue_seconds_count{org="t1"}`), 20.0, "parts wait as queries do")
}
