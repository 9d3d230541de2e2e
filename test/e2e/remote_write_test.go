package e2e_test

import (
	"math"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// written is a sample of a series at a time before the test's.
type written struct {
	series []string // names and values of labels
	before time.Duration
	value  float64
}

// remoteWrite sends samples as one request of remote write 1.0.
func (s store) remoteWrite(t *testing.T, now time.Time, samples ...written) mstest.Response {
	t.Helper()
	request := &prompb.WriteRequest{}
	for _, x := range samples {
		ts := prompb.TimeSeries{Samples: []prompb.Sample{{Timestamp: now.Add(-x.before).UnixMilli(), Value: x.value}}}
		for i := 0; i < len(x.series); i += 2 {
			ts.Labels = append(ts.Labels, prompb.Label{Name: x.series[i], Value: x.series[i+1]})
		}
		request.Timeseries = append(request.Timeseries, ts)
	}
	body, err := request.Marshal()
	require.NoError(t, err)
	return s.Post(t, "/api/v1/write", string(snappy.Encode(nil, body)), "Content-Type", "application/x-protobuf", "Content-Encoding", "snappy")
}

// What cannot be stored of a request keeps nothing else out; the answer is 400 with counts and the first series of each kind, never a 5xx,
// and sending the request again changes nothing.
func TestCase_P05(t *testing.T) {
	t.Parallel()
	s := start(t)
	now := time.Now().Truncate(time.Second)
	seen := []string{"__name__", "seen", "job", "a"}
	require.Equal(t, http.StatusNoContent, s.remoteWrite(t, now, written{seen, 0, 1}).Status)
	var samples []written
	for i := range 500 {
		samples = append(samples, written{[]string{"__name__", "good", "i", strconv.Itoa(i)}, 0, float64(i)})
	}
	samples = append(samples,
		written{seen, 0, 2},                          // equal time, other value
		written{seen, 0, 1},                          // equal time, equal value
		written{seen, 30 * time.Minute, 3},           // in the window
		written{seen, time.Hour + time.Second, 11},   // before it
		written{seen, time.Hour + 2*time.Second, 11}) // and once more
	for range 3 {
		res := s.remoteWrite(t, now, samples...)
		require.Equal(t, http.StatusBadRequest, res.Status, "%s", res.Body)
		require.Contains(t, string(res.Body), `series seen{"job":"a"}`)
		require.Contains(t, string(res.Body), "another value stands at that time already")
		require.Contains(t, string(res.Body), "2 errors like: ")
	}
	s.stages(t, func(t *testing.T) {
		require.Equal(t, "500", s.prom(t, "count(good)", now))
		require.Equal(t, "2", s.prom(t, "count_over_time(seen[2h])", now))
		require.Equal(t, "4", s.prom(t, "sum_over_time(seen[2h])", now))
		require.Equal(t, "500", s.one(t, "SELECT count(*) FROM good"))
		require.Equal(t, []string{"3.0", "1.0"}, s.column(t, "SELECT CAST(value AS VARCHAR) FROM seen ORDER BY _timestamp"))
	})
}

// An empty label is no label, in SQL and PromQL, and the staleness marker is no value, over a real process with kills and flushes.
func TestCase_P01_P02(t *testing.T) {
	t.Parallel()
	s := start(t)
	now := time.Now().Truncate(time.Second)
	stale := math.Float64frombits(value.StaleNaN)
	for _, x := range []written{
		{[]string{"__name__", "m", "job", "a", "x", ""}, 2 * time.Minute, 1},
		{[]string{"__name__", "m", "job", "a"}, time.Minute, 2},
		{[]string{"__name__", "gone"}, 2 * time.Minute, 1},
		{[]string{"__name__", "gone"}, 90 * time.Second, stale},
		{[]string{"__name__", "gone"}, 10 * time.Second, 1},
		{[]string{"__name__", "odd"}, time.Minute, math.NaN()},
	} {
		require.Equal(t, http.StatusNoContent, s.remoteWrite(t, now, x).Status)
	}
	s.stages(t, func(t *testing.T) {
		for expression, want := range map[string]string{
			`m{x=""}`: "2", `m{x=~".*"}`: "2", `m{nolabel=""}`: "2", "count(m)": "1", `absent(m{x!=""})`: "1",
			"count_over_time(gone[3m])": "2", "odd": "NaN",
		} {
			require.Equal(t, want, s.prom(t, expression, now), expression)
		}
		require.Equal(t, "1", s.prom(t, "absent(gone)", now.Add(-89*time.Second)))
		require.Equal(t, "1", s.prom(t, "gone", now.Add(-91*time.Second)))
		require.Equal(t, "1", s.one(t, "SELECT count(DISTINCT _labels) FROM m"))
		require.Equal(t, "2", s.one(t, "SELECT count(value) FROM gone"), "a marker has no value")
		require.Equal(t, "3", s.one(t, "SELECT count(*) FROM gone"))
	})
}
