package share_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/quota/share"
	"github.com/millstream/millstream/internal/tenant"
)

// byteRouter is a router that limits bytes.
type byteRouter struct {
	bytes  *quota.Bytes
	keeper *share.Keeper
	wanted bool
}

// TestBatchesWithinTheBurst is case N04 of the public reports: 1 MB a second of a limit of 2 MB/s passes with one router and with ten,
// whether one router takes all of it or they take turns, through a change of the limit and the death of five; what can never pass is told
// so by all.
func TestBatchesWithinTheBurst(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for _, routers := range []int{1, 3, 10} {
		for _, turns := range []bool{false, true} {
			t.Run(fmt.Sprint(routers, " routers, in turn: ", turns), func(t *testing.T) {
				t.Parallel()
				c := clock.NewFake(began)
				store := newMemory(c)
				rate := quota.Rate{PerSecond: 2 * mb, Burst: 2 * mb}
				all := make([]*byteRouter, routers)
				for i := range all {
					r := &byteRouter{bytes: quota.NewBytes(c, func(tenant.ID) quota.Rate { return rate })}
					r.bytes.Divide(func(quota.Budget) { r.wanted = true }, func() int { return routers })
					r.keeper = share.New(share.Options{Self: share.Frontend{ID: fmt.Sprint("r", i), Incarnation: 1}, Clock: c}, store, r.bytes)
					all[i] = r
				}
				second := func(n int) {
					target := all[0]
					if turns {
						target = all[n%len(all)]
					}
					require.NoError(t, target.bytes.Take("acme", mb), "second %d", n)
					for range 5 {
						c.Advance(200 * time.Millisecond)
						for _, r := range all {
							if r.wanted {
								r.wanted = false
								require.NoError(t, r.keeper.Beat(t.Context()))
							}
						}
					}
					for _, r := range all {
						require.NoError(t, r.keeper.Beat(t.Context()))
					}
				}
				for n := range 60 {
					second(n)
				}
				for _, r := range all {
					require.True(t, fault.Is(r.bytes.Take("acme", 2*mb+1), fault.TooLarge))
				}
				rate.PerSecond = 3 * mb
				all = all[:(len(all)+1)/2]
				for n := range 60 {
					second(n)
				}
			})
		}
	}
}
