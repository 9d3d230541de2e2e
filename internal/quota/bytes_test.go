package quota_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/tenant"
)

var start = time.Date(2026, 3, 10, 10, 0, 0, 0, time.UTC)

// fixed returns buckets of one rate and the clock that they read.
func fixed(rate quota.Rate) (*quota.Bytes, *clock.Fake) {
	c := clock.NewFake(start)
	return quota.NewBytes(c, func(tenant.ID) quota.Rate { return rate }), c
}

// waitOf is the wait of a refused request, to the nanosecond.
func waitOf(err error) time.Duration {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// requireWait checks that a request is refused with a wait.
func requireWait(t require.TestingT, err error, wait time.Duration) {
	require.True(t, fault.Is(err, fault.Limited), "%v", err)
	require.Equal(t, wait, waitOf(err))
}

func TestTake(t *testing.T) {
	t.Parallel()
	b, c := fixed(quota.Rate{PerSecond: 1000, Burst: 3000})
	require.EqualValues(t, 3000, b.Free("a"))
	require.NoError(t, b.Take("a", 3000), "a new bucket is full")
	require.Zero(t, b.Free("a"))
	requireWait(t, b.Take("a", 1), time.Millisecond)
	requireWait(t, b.Take("a", 3000), 3*time.Second)
	require.NoError(t, b.Take("b", 3000), "orgs share nothing")
	require.NoError(t, b.Take("a", 0))

	c.Advance(time.Millisecond - time.Nanosecond)
	requireWait(t, b.Take("a", 1), time.Nanosecond)
	c.Advance(time.Nanosecond)
	require.NoError(t, b.Take("a", 1))
	for range 100 {
		requireWait(t, b.Take("a", 2000), 2*time.Second) // a refused request costs nothing
	}
	c.Advance(2 * time.Second)
	require.EqualValues(t, 2000, b.Free("a"))
	require.NoError(t, b.Take("a", 2000))

	c.Advance(time.Hour)
	require.NoError(t, b.Take("a", 3000), "never more than the burst")
	requireWait(t, b.Take("a", 1), time.Millisecond)
}

func TestAboveTheBurst(t *testing.T) {
	t.Parallel()
	b, _ := fixed(quota.Rate{PerSecond: 1000, Burst: 3000})
	err := b.Take("a", 3001)
	require.True(t, fault.Is(err, fault.TooLarge))
	require.Zero(t, fault.RetryAfter(err))
	require.Contains(t, fault.Message(err), "3000 bytes (limits.ingestion_burst_size_mb)")
	require.NoError(t, b.Take("a", 3000))

	b, _ = fixed(quota.Rate{PerSecond: 1000})
	require.True(t, fault.Is(b.Take("a", 1001), fault.TooLarge), "without a burst the bucket holds a second")
	require.EqualValues(t, 1000, b.Piece("a", 5000))
	require.EqualValues(t, 500, b.Piece("a", 500))
}

func TestRefusalTellsFacts(t *testing.T) {
	t.Parallel()
	b, _ := fixed(quota.Rate{PerSecond: 1000, Burst: 3000})
	require.NoError(t, b.Take("acme", 2000))
	require.Equal(t, "ingestion rate limit exceeded for org acme: limit 1000 bytes/s (limits.ingestion_rate_mb), "+
		"burst 3000 bytes (limits.ingestion_burst_size_mb), 1000 bytes free; the request has 2500 bytes inflated, retry in 1.5s",
		fault.Message(b.Take("acme", 2500)))
	b, _ = fixed(quota.Rate{PerSecond: 10, Burst: 3000})
	require.NoError(t, b.Take("acme", 3000))
	requireWait(t, b.Take("acme", 3000), quota.MaxRetryAfter)
}

func TestOff(t *testing.T) {
	t.Parallel()
	b, _ := fixed(quota.Rate{Burst: 10})
	for range 10 {
		require.NoError(t, b.Take("a", math.MaxInt64))
	}
	require.False(t, b.Limited("a"))
	require.EqualValues(t, 7, b.Piece("a", 7))
}

func TestRateChanges(t *testing.T) {
	t.Parallel()
	rate := quota.Rate{PerSecond: 1000, Burst: 4000}
	c := clock.NewFake(start)
	b := quota.NewBytes(c, func(tenant.ID) quota.Rate { return rate })
	require.NoError(t, b.Take("a", 4000))
	rate.PerSecond = 4000 // what was used stays used: the bucket is still empty
	requireWait(t, b.Take("a", 4000), time.Second)
	c.Advance(time.Second / 2)
	require.NoError(t, b.Take("a", 2000))
	rate = quota.Rate{PerSecond: 100, Burst: 1000}
	requireWait(t, b.Take("a", 100), time.Second)
	rate.PerSecond = 0
	require.NoError(t, b.Take("a", 1<<40))
	rate = quota.Rate{PerSecond: math.MaxInt64, Burst: math.MaxInt64}
	require.NoError(t, b.Take("a", 1<<62))
}

// TestNeverMoreThanTheRate draws requests and pauses: what is admitted never passes burst + rate × time, a refused request passes
// after exactly the wait it was told, and not a nanosecond before.
func TestNeverMoreThanTheRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := quota.Rate{
			PerSecond: rapid.Int64Range(1, 1<<40).Draw(t, "rate"),
			Burst:     rapid.Int64Range(1, 1<<40).Draw(t, "burst"),
		}
		b, c := fixed(rate)
		admitted := 0.0
		for range rapid.IntRange(1, 50).Draw(t, "requests") {
			n := rapid.Int64Range(1, rate.Burst).Draw(t, "bytes")
			err := b.Take("a", n)
			if wait := waitOf(err); err != nil && wait < quota.MaxRetryAfter {
				c.Advance(wait - 1)
				require.Error(t, b.Take("a", n))
				c.Advance(1)
				err = b.Take("a", n)
				require.NoError(t, err)
			}
			if err == nil {
				admitted += float64(n)
			}
			span := (c.Now().Sub(start) + 1).Seconds() // the bucket's size is rounded up to a nanosecond
			require.LessOrEqual(t, admitted, (float64(rate.Burst)+float64(rate.PerSecond)*span)*(1+1e-9))
			c.Advance(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "pause")))
		}
	})
}

func TestConcurrentRequestsShareTheBucket(t *testing.T) {
	t.Parallel()
	b, _ := fixed(quota.Rate{PerSecond: 1, Burst: 1000})
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex
		admitted int
	)
	for range 8 {
		wg.Go(func() {
			for range 500 {
				if b.Take("a", 1) == nil {
					mu.Lock()
					admitted++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1000, admitted)
}

// TestManyOrgsTakeLittleMemory sends from a million orgs, at first so that buckets fill again, then so that they do not.
func TestManyOrgsTakeLittleMemory(t *testing.T) { //nolint:paralleltest // looks at the heap
	b, c := fixed(quota.Rate{PerSecond: 1 << 20, Burst: 1 << 20})
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range 1_000_000 {
		require.NoError(t, b.Take(tenant.ID(fmt.Sprintf("org-%d", i)), 100))
		if i < 500_000 {
			c.Advance(time.Millisecond)
		}
	}
	require.Less(t, int64(heap())-int64(before), int64(8<<20))
	runtime.KeepAlive(b)
}
