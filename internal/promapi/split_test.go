package promapi_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/tenant"
)

// stored are metrics of a storage.
type stored struct{ storage.Storage }

func (s stored) Queryable(tenant.ID, string) storage.Queryable { return s.Storage }

func (stored) Exemplars(context.Context, tenant.ID, string) storage.ExemplarQuerier { return nil }

func (stored) Metadata(context.Context, tenant.ID, string, string) (map[string][]metadata.Metadata, error) {
	return nil, nil
}

// series begin, end, pause and reset at several times within four hours.
const series = `load 30s
	requests_total{job="a", code="200"} 0+7x480
	requests_total{job="a", code="500"} _x100 0+1x200 0+2x100
	requests_total{job="b", code="200"} 0+3x90 _x60 stale _x90 5+4x230
	temperature{room="x"} 20 21 _ _ 19 NaN 18+0.25x400
	temperature{room="y"} -5+0.1x60 _x200 30-0.2x200
	size_bucket{le="1"} 0+1x480
	size_bucket{le="10"} 0+4x480
	size_bucket{le="+Inf"} 0+5x480
	latency {{schema:0 count:4 sum:8 buckets:[1 2 1]}}+{{count:2 sum:3 buckets:[1 1]}}x300
	mixed 1 2 3 {{schema:0 count:1 sum:1 buckets:[1]}}x50 4x400
`

func ranged(query string, start, end, step time.Duration) promapi.Question {
	at := func(d time.Duration) string { return fmt.Sprint(d.Seconds()) }
	return promapi.Question{Org: "a", Database: "public", Path: "query_range", Form: url.Values{
		"query": {query}, "start": {at(start)}, "end": {at(end)}, "step": {at(step)},
	}}
}

// TestPartsOfARangeAreTheRange asks queries as a whole and in parts: the answers are the same bytes.
func TestPartsOfARangeAreTheRange(t *testing.T) {
	t.Parallel()
	s := promqltest.LoadedStorage(t, series)
	t.Cleanup(func() { _ = s.Close() })
	api := promapi.New(promapi.Options{}, promapi.Deps{Metrics: stored{s}})
	random := rand.New(rand.NewPCG(3, 4))
	for _, query := range []string{
		"requests_total", `sum by (job) (rate(requests_total[5m]))`, "temperature", "avg_over_time(temperature[17m])", "-temperature",
		"histogram_quantile(0.9, rate(size_bucket[10m]))", "latency", "histogram_quantile(0.5, rate(latency[3m]))", "mixed", "1", "time()",
		"topk(1, requests_total)", `count_values("v", requests_total > 100)`, "requests_total offset 7m", "requests_total @ 3600",
		"max_over_time(rate(requests_total[2m])[20m:1m])", "requests_total / on (job) group_left sum by (job) (requests_total)",
		"absent(requests_total{job='a', code='500'})", "requests_total or temperature", "sort_desc(requests_total)", "changes(temperature[1h])",
		"rate(mixed[5m])", "nonexistent", "requests_total * temperature", "predict_linear(temperature[30m], 600)", "timestamp(temperature)",
		"requests_total + on (job) requests_total", // fails: many-to-many
	} {
		for range 8 {
			start := time.Duration(random.IntN(3*3600)) * time.Second
			q := ranged(query, start, start+time.Duration(random.IntN(2*3600))*time.Second, time.Duration(1+random.IntN(400))*time.Second)
			interval := time.Duration(1+random.IntN(60)) * time.Minute
			parts := promapi.SplitRange(q, interval)
			if parts == nil {
				continue
			}
			var answers []promapi.Answer
			for _, p := range parts {
				answers = append(answers, api.Answer(t.Context(), p))
			}
			whole, joined := api.Answer(t.Context(), q), promapi.JoinRange(answers)
			require.Equal(t, whole.Status, joined.Status, "%v by %s", q.Form, interval)
			require.Equal(t, string(whole.Body), string(joined.Body), "%v by %s", q.Form, interval)
		}
	}
}

func TestWhatIsSplitByRange(t *testing.T) {
	t.Parallel()
	for query, parts := range map[string]int{
		"up": 4, "rate(up[5m])": 4, "rate(up[2h])": 2, "max_over_time(up[90m:1m])": 3, "a or b": 4, "sum(up)": 4,
		"up @ start()": 0, "up @ end()": 0, "max_over_time(up[5m:1m] @ end())": 0, `{job="x"}`: 0, `{__name__=~"x.*"}`: 0,
		`label_replace(up, "a", "b", "c", "d")`: 0, "limitk(2, up)": 0, "-(a or b)": 0, "up[": 0, "max_over_time((a or b)[5m:1m])": 0,
	} {
		require.Len(t, promapi.SplitRange(ranged(query, 0, 4*time.Hour-time.Minute, time.Minute), time.Hour), parts, query)
	}
	q := ranged("up", 10*time.Minute, 130*time.Minute, 7*time.Minute)
	var got [][2]string
	for _, p := range promapi.SplitRange(q, time.Hour) {
		got = append(got, [2]string{p.Form.Get("start"), p.Form.Get("end")})
	}
	require.Equal(t, [][2]string{{"600", "3540"}, {"3960", "6900"}, {"7320", "7740"}}, got, "each step is in one part")
	for _, key := range []string{"limit", "stats"} {
		q := ranged("up", 0, 4*time.Hour, time.Minute)
		q.Form.Set(key, "1")
		require.Nil(t, promapi.SplitRange(q, time.Hour), key)
	}
	require.Nil(t, promapi.SplitRange(ranged("up", 0, time.Minute, time.Second), time.Hour))
	require.Nil(t, promapi.SplitRange(ranged("up", 0, 100*time.Hour, time.Second), time.Hour), "too many points: the whole says so")
	require.Nil(t, promapi.SplitRange(ranged("up", 0, 4*time.Hour, time.Minute), 0))
	require.LessOrEqual(t, len(promapi.SplitRange(ranged("up", 0, 10_000*time.Second, time.Second), time.Millisecond)), 1001)
}
