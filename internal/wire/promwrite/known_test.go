package promwrite_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/promwrite"
	"github.com/millstream/millstream/internal/wire/wiretest"
)

// request is one of a sample of each of some series, from number first on.
func request(t testing.TB, first, series int) []byte {
	t.Helper()
	m := &prompb.WriteRequest{}
	for i := first; i < first+series; i++ {
		m.Timeseries = append(m.Timeseries, prompb.TimeSeries{
			Labels:  pairs("__name__", "m", "i", strconv.Itoa(i), "job", "a"),
			Samples: []prompb.Sample{{Value: float64(i), Timestamp: received().UnixMilli()}},
		})
	}
	return marshal(t, m)
}

// Limits of an org are checked anew for a known series.
func TestKnownSeriesMustPassLimits(t *testing.T) {
	t.Parallel()
	known := promwrite.NewKnown(1 << 20)
	body := request(t, 0, 1)
	for _, c := range []struct {
		opts     wire.Options
		rejected int
	}{
		{wire.Options{}, 0},
		{wire.Options{MaxLabels: 2}, 0},
		{wire.Options{MaxLabels: 1}, 1},
		{wire.Options{MaxLabelName: 3}, 0},
		{wire.Options{MaxLabelName: 2}, 1},
		{wire.Options{MaxLabelValue: 1}, 0},
	} {
		c.opts.ReceivedAt = received()
		rows := wiretest.Collector{T: t}
		result, err := known.Decode(body, promwrite.V1, stream(), c.opts, rows.Emit)
		require.NoError(t, err)
		require.Equal(t, c.rejected, result.Rejected, "%+v", c.opts)
	}
	require.Equal(t, 1, known.Sets())
}

// Labels behind the samples, which no sender puts there, are read, whether those in front are known or not.
func TestLabelsBehindSamples(t *testing.T) {
	t.Parallel()
	known := promwrite.NewKnown(1 << 20)
	front, _ := decodeKnown(t, known, request(t, 0, 1), promwrite.V1)
	ts := prompb.TimeSeries{
		Labels: pairs("__name__", "m", "i", "0", "job", "a"), Samples: []prompb.Sample{{Timestamp: received().UnixMilli()}},
	}
	series := append(marshal(t, &ts), marshal(t, &prompb.TimeSeries{Labels: pairs("z", "late")})...)
	body := append([]byte{1<<3 | 2, byte(len(series))}, series...)
	for range 2 {
		rows, _ := decodeKnown(t, known, body, promwrite.V1)
		require.Len(t, rows, 1)
		require.Contains(t, fmt.Sprint(rows[0]), `"z":"late"`)
		again, _ := decodeKnown(t, known, request(t, 0, 1), promwrite.V1)
		require.Equal(t, front, again)
	}
	require.Equal(t, 1, known.Sets())
}

// What is known has a bound, and of more series than fit a good part is known all the same.
func TestKnownIsBounded(t *testing.T) {
	t.Parallel()
	const bytes, perSet = 100_000, 330
	known := promwrite.NewKnown(bytes)
	for round := range 20 {
		for first := 0; first < 3000; first += 100 {
			_, result := decodeKnown(t, known, request(t, first, 100), promwrite.V1)
			require.Equal(t, 100, result.Samples)
			require.LessOrEqual(t, known.Sets(), bytes/250)
		}
		if round == 5 {
			known.Count()
		}
	}
	hits, misses := known.Count()
	require.Equal(t, 14*3000, hits+misses)
	require.Greater(t, hits, 14*bytes/perSet/2, "half of what has room is found in every round")

	few := promwrite.NewKnown(bytes)
	for range 3 {
		decodeKnown(t, few, request(t, 0, 100), promwrite.V1)
	}
	hits, misses = few.Count()
	require.Equal(t, []int{200, 100}, []int{hits, misses})
}

func TestKnownIsShared(t *testing.T) {
	t.Parallel()
	known := promwrite.NewKnown(20_000)
	bodies := make([][]byte, 10)
	for i := range bodies {
		bodies[i] = request(t, i*20, 50)
	}
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := range 100 {
				rows := wiretest.Collector{T: t}
				result, err := known.Decode(bodies[(i+w)%10], promwrite.V1, stream(), wire.Options{ReceivedAt: received()}, rows.Emit)
				if err != nil || result.Samples != 50 || len(rows.All) != 50 {
					t.Errorf("%d rows: %v", len(rows.All), err)
				}
			}
		})
	}
	workers.Wait()
}
