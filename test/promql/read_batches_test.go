package promql_test

import (
	"math"
	"runtime"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/promstore"
	"github.com/millstream/millstream/internal/testkit/promtest"
	"github.com/millstream/millstream/internal/wire/promwrite"
)

// manySeries writes so many series with samples at 15 s steps, in requests of a part of the time each, and flushes after each but the last.
func (b *bench) manySeries(t *testing.T, series, samples int) {
	t.Helper()
	const requests = 3
	for part := range requests {
		request := &prompb.WriteRequest{}
		for i := range series {
			ts := prompb.TimeSeries{Labels: []prompb.Label{
				{Name: "__name__", Value: "m" + strconv.Itoa(i%3)}, {Name: "i", Value: strconv.Itoa(i)}, {Name: "job", Value: strconv.Itoa(i % 7)},
			}}
			for k := part * samples / requests; k < (part+1)*samples/requests; k++ {
				ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: int64(k) * 15_000, Value: math.Sqrt(float64(i + k))})
			}
			request.Timeseries = append(request.Timeseries, ts)
		}
		body, err := request.Marshal()
		require.NoError(t, err)
		_, err = b.Write(t.Context(), body, promwrite.V1)
		require.NoError(t, err)
		if part+1 < requests {
			b.Flush(t)
		}
	}
}

// batched returns an API whose reads load so many samples at a time and keep nothing of files.
func (b *bench) batched(samples int64) *promapi.API {
	opts := promstore.Options{BatchSamples: samples, CacheBytes: -1}
	store := promstore.New(opts, promstore.Deps{Catalog: b.Catalog, Buffers: b.Ingest, Files: b.Files})
	return promapi.New(promapi.Options{}, promapi.Deps{Metrics: store})
}

// readAll returns the whole answer of a remote read with all series that match.
func readAll(t *testing.T, api *promapi.API, streamed bool, send func([]byte) error, matchers ...*labels.Matcher) {
	t.Helper()
	body, err := (&prompb.ReadRequest{Queries: []*prompb.Query{query(t, 0, math.MaxInt32*1000, nil, matchers...)}}).Marshal()
	require.NoError(t, err)
	require.NoError(t, api.Read(t.Context(), promapi.ReadRequest{Org: promtest.Org, Database: "public", Streamed: streamed, Body: body}, send))
}

// However few samples are loaded at a time, an answer is the same to the byte.
func TestRemoteReadInBatches(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.manySeries(t, 60, 300)
	b.export(t, `{"name":"o","histogram":{"aggregationTemporality":2,"dataPoints":[{"count":3,"bucketCounts":[1,2],"explicitBounds":[5],`+
		`"timeUnixNano":"60000000000","attributes":[{"key":"i","value":{"stringValue":"5"}}]}]}}`)
	b.everywhere(t, func(t *testing.T) {
		for name, matchers := range map[string][]*labels.Matcher{
			"one metric":  {match(labels.MatchEqual, "__name__", "m1")},
			"all":         {match(labels.MatchRegexp, "__name__", ".+")},
			"a label":     {match(labels.MatchEqual, "i", "5")},
			"histogram":   {match(labels.MatchEqual, "__name__", "o_bucket")},
			"two metrics": {match(labels.MatchRegexp, "__name__", "m0|m2"), match(labels.MatchNotEqual, "job", "3")},
			"nothing":     {match(labels.MatchEqual, "__name__", "none")},
		} {
			for _, streamed := range []bool{false, true} {
				var want []byte
				for i, samples := range []int64{1 << 40, 1, 700, 5000} {
					var got []byte
					readAll(t, b.batched(samples), streamed, func(part []byte) error {
						got = append(got, part...)
						return nil
					}, matchers...)
					if i == 0 {
						want = got
					}
					require.Equal(t, want, got, "%s, %d samples at a time, streamed %v", name, samples, streamed)
				}
				require.Equal(t, name == "nothing" && streamed, len(want) == 0, name)
			}
		}
	})
}

// A stream of millions of samples takes the memory of one batch.
func TestRemoteReadHoldsOneBatch(t *testing.T) {
	b := newBench(t)
	const series, samples = 2000, 1000
	b.manySeries(t, series, samples)
	b.Flush(t)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, most, frames := heap(), int64(0), 0
	readAll(t, b.batched(20_000), true, func([]byte) error {
		if frames++; frames%200 == 0 {
			most = max(most, heap()-before)
		}
		return nil
	}, match(labels.MatchRegexp, "__name__", "m."))
	require.GreaterOrEqual(t, frames, series)
	const all = series * samples * 16 // times and values
	require.Less(t, most, int64(all/3), "of %d bytes of samples", all)
	t.Logf("at most %d KiB for %d KiB of samples", most>>10, all>>10)
}
