package fairqueue

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/tenant"
)

// check holds the state of a core against what is known from outside.
func check(t *testing.T, c *core, now time.Time, waiting, running []*waiter) {
	t.Helper()
	require.Equal(t, len(running), c.running)
	queued, charged, held, active := 0, map[tenant.ID]int{}, map[tenant.ID]int{}, 0
	for _, w := range waiting {
		for _, l := range w.lines {
			charged[l.org]++
		}
	}
	for _, w := range running {
		require.Nil(t, w.node)
		for _, l := range w.lines {
			held[l.org]++
		}
	}
	for org, l := range c.lines {
		require.Equal(t, charged[org], l.waiting)
		require.Equal(t, held[org], l.running)
		require.Equal(t, l.queued > 0, l.place >= 0)
		require.Equal(t, l.queued > 0, l.queue.first() != nil)
		if l.settings.MaxRunning > 0 {
			require.LessOrEqual(t, l.running, l.settings.MaxRunning)
		}
		if l.place >= 0 {
			require.Same(t, l, c.heap[l.place])
		}
		if l.active() {
			active++
		}
		queued += l.queued
	}
	require.Equal(t, len(waiting), queued)
	require.Len(t, c.active, active)
	require.Equal(t, len(c.lines)-active, c.idle)
	for i := 1; i < len(c.heap); i++ {
		require.False(t, c.heap.Less(i, (i-1)/2), "the heap is in order")
	}
	for _, l := range c.heap {
		if c.running+c.withheld < c.capacity {
			require.Nil(t, l.queue.next(func(w *waiter) bool { return c.may(w, now) }), "no slot is idle beside a query that may have it")
		}
	}
}

// TestRandomSteps takes 10,000 random steps: afterwards nothing is left.
func TestRandomSteps(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 99))
			now := time.Unix(0, 0)
			c := newCore(6, func(org tenant.ID) Settings {
				return Settings{Weight: float64(1 + org[0]%3), MaxRunning: int(org[0] % 4), MaxWaiting: 10}
			}, now)
			var waiting, running []*waiter
			take := func(list *[]*waiter) *waiter {
				i := random.IntN(len(*list))
				w := (*list)[i]
				*list = append((*list)[:i], (*list)[i+1:]...)
				return w
			}
			sort := func() { // by whether they have been given a slot
				var still []*waiter
				for _, w := range waiting {
					if w.granted.IsZero() {
						still = append(still, w)
						continue
					}
					<-w.ready
					running = append(running, w)
				}
				waiting = still
			}
			for step := range 10_000 {
				now = now.Add(time.Duration(random.ExpFloat64() * float64(200*time.Millisecond)))
				switch n := random.IntN(20); {
				case n < 9:
					orgs := []tenant.ID{tenant.ID(rune('a' + random.IntN(6)))}
					if other := tenant.ID(rune('g' + random.IntN(4))); random.IntN(4) == 0 {
						orgs = append(orgs, other)
					}
					w := &waiter{ready: make(chan struct{}, 1), ask: Ask{Orgs: orgs, Actor: []string{fmt.Sprint(random.IntN(3)), "x"}[:random.IntN(3)]}}
					if full := c.enqueue(w, now); full == nil {
						waiting = append(waiting, w)
					} else {
						require.GreaterOrEqual(t, full.waiting, 10)
					}
				case n < 11 && len(waiting) > 0:
					c.cancel(take(&waiting), now)
				case n < 18 && len(running) > 0:
					c.finish(take(&running), now)
				case n < 19 && len(running) > 0:
					w := take(&running)
					c.requeue(w, now)
					waiting = append(waiting, w)
				default:
					c.capacity = 1 + random.IntN(10)
					c.dispatch(now)
				}
				sort()
				if step%10 == 0 {
					c.capacity = max(c.capacity, c.running)
					c.dispatch(now)
					sort()
					check(t, c, now, waiting, running)
				}
			}
			for len(waiting)+len(running) > 0 {
				if len(running) == 0 {
					now = now.Add(time.Second)
					c.dispatch(now)
				} else {
					c.finish(take(&running), now)
				}
				sort()
			}
			check(t, c, now, nil, nil)
			require.Empty(t, c.heap)
			require.Empty(t, c.active)
			c.renew(now.Add(maxEpoch))
			c.renew(now.Add(3 * maxEpoch))
			require.Empty(t, c.lines, "old use is forgotten")
		})
	}
}

// TestUseFades checks the arithmetic of use against a plain computation, over changes of the epoch.
func TestUseFades(t *testing.T) {
	t.Parallel()
	start := time.Unix(0, 0)
	c := newCore(2, func(tenant.ID) Settings { return Settings{} }, start)
	w := &waiter{ready: make(chan struct{}, 1), ask: Ask{Orgs: []tenant.ID{"a"}}}
	require.Nil(t, c.enqueue(w, start))
	l := c.lines["a"]
	used := func(now time.Time) float64 { return l.use.at(c.ages, now, l.load()) / c.ages.growth(now) }
	// A slot that is held for ever is worth halfLife ÷ ln 2 seconds.
	now := start.Add(30 * time.Second)
	require.InDelta(t, 21.64, used(now), 0.01)
	now = start.Add(20 * time.Minute)
	c.renew(now)
	require.Equal(t, now, c.ages.epoch)
	require.InDelta(t, 43.28, used(now), 0.01)
	c.finish(w, now)
	now = now.Add(time.Minute)
	require.InDelta(t, 43.28/4, used(now), 0.01)
	now = now.Add(20 * time.Minute)
	c.renew(now)
	require.NotContains(t, c.lines, tenant.ID("a"), "what is as good as nothing is forgotten")
}

// TestIdleOrgsAreBounded asks for very many orgs.
func TestIdleOrgsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	c := newCore(1, func(tenant.ID) Settings { return Settings{} }, now)
	for i := range 5 * maxIdleLines {
		w := &waiter{ready: make(chan struct{}, 1), ask: Ask{Orgs: []tenant.ID{tenant.ID(fmt.Sprint(i))}}}
		require.Nil(t, c.enqueue(w, now))
		now = now.Add(time.Millisecond)
		c.finish(w, now)
		require.LessOrEqual(t, len(c.lines), maxIdleLines+1)
	}
	require.Empty(t, c.heap)
	heap.Init(&c.heap)
}
