package quota_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/tenant"
)

// TestBytesShare: whatever the share, the bucket has the whole burst; only the refill is divided.
func TestBytesShare(t *testing.T) {
	t.Parallel()
	rate := quota.Rate{PerSecond: 1000, Burst: 3000}
	c := clock.NewFake(start)
	b := quota.NewBytes(c, func(tenant.ID) quota.Rate { return rate })
	wanted := 0
	b.Divide(func(budget quota.Budget) {
		require.Equal(t, quota.Budget{Kind: quota.KindBytes, Org: "acme"}, budget)
		wanted++
	}, func() int { return 5 })
	require.NoError(t, b.Take("acme", 3000))
	require.Equal(t, 1, wanted, "the first request")
	requireWait(t, b.Take("acme", 100), 100*time.Millisecond)
	b.Apply(quota.Budget{Kind: quota.KindBytes, Org: "acme"}, quota.Share{Epoch: 1, Quota: 200, Limit: 1000})
	requireWait(t, b.Take("acme", 100), 500*time.Millisecond)
	require.Equal(t, "ingestion rate limit exceeded for org acme: limit 1000 bytes/s (limits.ingestion_rate_mb), of which 200 bytes/s are "+
		"this node's share, burst 3000 bytes (limits.ingestion_burst_size_mb), 0 bytes free; the request has 3000 bytes inflated, retry in 15s",
		fault.Message(b.Take("acme", 3000)))
	c.Advance(15 * time.Second)
	require.NoError(t, b.Take("acme", 3000), "a request within the burst passes with any share")
	require.True(t, fault.Is(b.Take("acme", 3001), fault.TooLarge))

	u := b.Usage()
	require.Len(t, u, 1)
	require.Equal(t, quota.Usage{
		Budget: quota.Budget{Kind: quota.KindBytes, Org: "acme"}, Limit: 1000, Quota: 200, Epoch: 1, Accepted: 6000, Refused: 3200, Missing: 3000,
	}, u[0])
	before := wanted
	rate.PerSecond = 500
	require.Error(t, b.Take("acme", 3000))
	require.Greater(t, wanted, before, "the limit has changed")
	require.EqualValues(t, 100, b.Usage()[0].Quota, "in proportion, at once")
	b.Apply(quota.Budget{Kind: quota.KindBytes, Org: "acme"}, quota.Share{})
	require.EqualValues(t, 500, b.Usage()[0].Quota)
	c.Advance(2 * quota.MaxIdle)
	require.Empty(t, b.Usage())
}

// TestAGreaterShareFillsAtOnce raises a share, and then a limit, while nothing is written: the bucket fills at the new rate from that
// moment, not from the next request on.
func TestAGreaterShareFillsAtOnce(t *testing.T) {
	t.Parallel()
	rate := quota.Rate{PerSecond: 1000, Burst: 3000}
	c := clock.NewFake(start)
	b := quota.NewBytes(c, func(tenant.ID) quota.Rate { return rate })
	b.Divide(func(quota.Budget) {}, func() int { return 1 })
	budget := quota.Budget{Kind: quota.KindBytes, Org: "acme"}
	require.NoError(t, b.Take("acme", 3000))
	b.Apply(budget, quota.Share{Epoch: 1, Quota: 10, Limit: 1000})
	c.Advance(time.Second)
	b.Apply(budget, quota.Share{Epoch: 2, Quota: 500, Limit: 1000})
	c.Advance(2 * time.Second)
	requireWait(t, b.Take("acme", 1011), 2*time.Millisecond)
	require.NoError(t, b.Take("acme", 1010))

	rate.PerSecond = 3000
	b.Refresh()
	c.Advance(time.Second)
	require.NoError(t, b.Take("acme", 1500))
	requireWait(t, b.Take("acme", 3), 2*time.Millisecond)
}

// TestATinyShareIsNoLongWait refuses at a process that had nothing to do: the client is told to wait for the part of the rate that the
// process gets soon, and not for its share.
func TestATinyShareIsNoLongWait(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(start)
	b := quota.NewBytes(c, func(tenant.ID) quota.Rate { return quota.Rate{PerSecond: 1000, Burst: 3000} })
	b.Divide(func(quota.Budget) {}, func() int { return 2 })
	budget := quota.Budget{Kind: quota.KindBytes, Org: "acme"}
	require.NoError(t, b.Take("acme", 3000))
	requireWait(t, b.Take("acme", 1000), time.Second)
	b.Apply(budget, quota.Share{Epoch: 1, Quota: 10, Limit: 1000})
	requireWait(t, b.Take("acme", 1000), 4*time.Second)
	requireWait(t, b.Take("acme", 10), time.Second)
}

// TestSharesOfManyOrgs bounds what is divided; orgs beyond have the whole rate.
func TestSharesOfManyOrgs(t *testing.T) {
	t.Parallel()
	b, _ := fixed(quota.Rate{PerSecond: 1000})
	b.Divide(func(quota.Budget) {}, func() int { return 1 })
	for i := range quota.MaxOrgs + 100 {
		require.NoError(t, b.Take(tenant.ID(fmt.Sprint("org-", i)), 10))
	}
	require.Len(t, b.Usage(), quota.MaxOrgs)
}
