package share_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/quota/allocate"
	"github.com/millstream/millstream/internal/quota/share"
	"github.com/millstream/millstream/internal/tenant"
)

// deaths is a cluster of routers that limit the bytes of one org, on a fake clock. A client sends a batch of half the limit a second, to
// the living routers in turn, and sends again what was refused after the wait that it was told.
type deaths struct {
	t       *testing.T
	clock   *clock.Fake
	store   *memory
	random  *rand.Rand
	routers []*mortal
	turn    int
}

// mortal is a router that may die.
type mortal struct {
	byteRouter

	next, calm time.Time
}

const (
	megabyte   = 1 << 20
	orgsLimit  = 2 * megabyte
	batchBytes = megabyte
)

func newDeaths(t *testing.T, seed uint64, routers int) *deaths {
	t.Helper()
	c := clock.NewFake(began)
	d := &deaths{t: t, clock: c, store: newMemory(c), random: rand.New(rand.NewPCG(seed, 2))}
	for i := range routers {
		r := &mortal{next: c.Now().Add(time.Duration(d.random.Int64N(int64(time.Second))))}
		r.bytes = quota.NewBytes(c, func(tenant.ID) quota.Rate { return quota.Rate{PerSecond: orgsLimit, Burst: orgsLimit} })
		r.bytes.Divide(func(quota.Budget) { r.wanted = true }, func() int { return routers })
		r.keeper = share.New(share.Options{Self: share.Frontend{ID: fmt.Sprint("r", i), Incarnation: 1}, Clock: c}, d.store, r.bytes)
		d.routers = append(d.routers, r)
	}
	return d
}

// pass moves the clock on while the living routers beat.
func (d *deaths) pass(span time.Duration) {
	for until := d.clock.Now().Add(span); d.clock.Now().Before(until); {
		d.clock.Advance(tick)
		now := d.clock.Now()
		for _, r := range d.routers {
			if r.wanted && !now.Before(r.calm) || !now.Before(r.next) {
				if !now.Before(r.next) {
					r.next = r.next.Add(time.Second)
				}
				r.wanted, r.calm = false, now.Add(200*time.Millisecond)
				require.NoError(d.t, r.keeper.Beat(d.t.Context()))
			}
		}
	}
}

// send sends a batch a second, and returns how long after the beginning batches were refused.
func (d *deaths) send(seconds int) (refused []time.Duration) {
	from := d.clock.Now()
	for range seconds {
		d.turn++
		r := d.routers[d.turn%len(d.routers)]
		if err := r.bytes.Take("acme", batchBytes); err != nil {
			refused = append(refused, d.clock.Now().Sub(from))
			d.pass(fault.RetryAfter(err).Truncate(tick) + tick)
			require.NoError(d.t, r.bytes.Take("acme", batchBytes), "after the wait that was told")
		}
		d.pass(time.Second)
	}
	return refused
}

// TestDeadRoutersKeepTheirShareForAWhile kills routers of several clusters at many moments. A dead router's share is given to the others
// when its last report has expired and two heartbeats have passed, since until then nobody knows whether it is only cut off and still uses
// it. So a batch may be refused in that time and not after it; and before any death none is.
func TestDeadRoutersKeepTheirShareForAWhile(t *testing.T) {
	t.Parallel()
	bound := allocate.Timing{}.Expiry() + 2*time.Second
	refused := 0
	for _, routers := range []int{2, 3, 6, 10} {
		for left := 1; left <= routers/2; left++ {
			for seed := range uint64(40) {
				d := newDeaths(t, seed, routers)
				require.Empty(t, d.send(30), "%d routers, seed %d", routers, seed)
				d.pass(time.Duration(d.random.Int64N(int64(time.Second))))
				d.random.Shuffle(routers, func(i, j int) { d.routers[i], d.routers[j] = d.routers[j], d.routers[i] })
				d.routers = d.routers[:left]
				late := d.send(40)
				refused += len(late)
				for _, at := range late {
					require.LessOrEqual(t, at, bound, "%d of %d routers left, seed %d", left, routers, seed)
				}
			}
		}
	}
	require.NotZero(t, refused, "the simulation comes near the bound")
}
