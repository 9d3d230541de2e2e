package quota_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/tenant"
)

func requests(qps, burst int64) (*quota.Requests, *clock.Fake) {
	c := clock.NewFake(start)
	return quota.NewRequests(c, "intake", quota.RequestRate{PerSecond: qps, Burst: burst}), c
}

// TestRequestVectors holds the rate to the moment at which each request passes.
func TestRequestVectors(t *testing.T) {
	t.Parallel()
	t.Run("2 a second, 4 at once", func(t *testing.T) {
		t.Parallel()
		r, c := requests(2, 4)
		for left := int64(3); left >= 0; left-- {
			v, err := r.Take("a")
			require.NoError(t, err)
			require.Equal(t, quota.Verdict{Remaining: left, Wait: 500 * time.Millisecond}, v)
		}
		v, err := r.Take("a")
		requireWait(t, err, 500*time.Millisecond)
		require.Equal(t, quota.Verdict{Wait: 500 * time.Millisecond}, v)
		_, err = r.Take("b")
		require.NoError(t, err, "orgs share nothing")

		c.Advance(499 * time.Millisecond)
		_, err = r.Take("a")
		requireWait(t, err, time.Millisecond)
		c.Advance(time.Millisecond)
		_, err = r.Take("a")
		require.NoError(t, err)
		_, err = r.Take("a")
		requireWait(t, err, 500*time.Millisecond)

		c.Advance(2 * time.Second)
		for range 4 {
			_, err = r.Take("a")
			require.NoError(t, err, "a pause gives the burst back")
		}
		_, err = r.Take("a")
		require.Error(t, err)
		require.Equal(t, "request rate limit exceeded for org a: 2 intake requests/s at this router (router.rate_limit.intake_qps), "+
			"4 at once, retry in 500ms", fault.Message(err))
	})
	t.Run("1000 a second, 2000 at once", func(t *testing.T) {
		t.Parallel()
		r, c := requests(1000, 2000)
		for range 2000 {
			_, err := r.Take("a")
			require.NoError(t, err)
		}
		_, err := r.Take("a")
		requireWait(t, err, time.Millisecond)
		c.Advance(time.Millisecond)
		_, err = r.Take("a")
		require.NoError(t, err)
	})
	t.Run("the burst is at least a second's rate", func(t *testing.T) {
		t.Parallel()
		r, _ := requests(3, 1)
		require.Equal(t, quota.RequestRate{PerSecond: 3, Burst: 3}, r.Rate())
		for range 3 {
			_, err := r.Take("a")
			require.NoError(t, err)
		}
		_, err := r.Take("a")
		require.Error(t, err)
	})
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		r, _ := requests(0, 0)
		for range 100 {
			_, err := r.Take("a")
			require.NoError(t, err)
		}
		require.False(t, r.Limited())
		require.Zero(t, r.Orgs())
	})
}

// TestRequestsNeverPassTheRate draws requests and pauses.
func TestRequestsNeverPassTheRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		qps, burst := rapid.Int64Range(1, 5000).Draw(t, "qps"), rapid.Int64Range(1, 20).Draw(t, "burst")
		r, c := requests(qps, burst)
		passed := int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			v, err := r.Take("a")
			if err == nil {
				passed++
			} else {
				c.Advance(v.Wait - 1)
				_, err = r.Take("a")
				require.Error(t, err)
				c.Advance(1)
				_, err = r.Take("a")
				require.NoError(t, err, "a request passes after the wait that the one before was told")
				passed++
			}
			interval := int64(time.Second) / qps
			require.LessOrEqual(t, passed, max(burst, qps)+int64(c.Now().Sub(start))/interval)
			c.Advance(time.Duration(rapid.Int64Range(0, int64(20*time.Millisecond)).Draw(t, "pause")))
		}
	})
}

func TestConcurrentRequestsShareTheRate(t *testing.T) {
	t.Parallel()
	r, _ := requests(100, 100)
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if _, err := r.Take("a"); err == nil {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 100, passed.Load())
}

// TestManyOrgsRequestWithLittleMemory sends from a million orgs.
func TestManyOrgsRequestWithLittleMemory(t *testing.T) { //nolint:paralleltest // looks at the heap
	r, c := requests(2, 4)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range 1_000_000 {
		_, err := r.Take(tenant.ID(fmt.Sprintf("org-%d", i)))
		require.NoError(t, err)
		if i < 500_000 {
			c.Advance(time.Millisecond)
		}
		if i%10_000 == 0 {
			require.LessOrEqual(t, r.Orgs(), quota.MaxOrgs)
		}
	}
	require.Less(t, int64(heap())-int64(before), int64(8<<20))
	runtime.KeepAlive(r)
}
