package fairqueue_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fairqueue"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

func ask(orgs ...tenant.ID) fairqueue.Ask { return fairqueue.Ask{Orgs: orgs} }

func acquire(t *testing.T, q *fairqueue.Queue, a fairqueue.Ask) *fairqueue.Slot {
	t.Helper()
	s, err := q.Acquire(t.Context(), a)
	require.NoError(t, err)
	return s
}

// order notes who got a slot, in order.
type order struct {
	mu  sync.Mutex
	got []string
}

// names returns who has got a slot so far, and begins anew.
func (o *order) names() []string {
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	got := o.got
	o.got = nil
	return got
}

// run asks in a goroutine of its own and notes the name when the slot comes, which it holds for d.
func (o *order) run(t *testing.T, q *fairqueue.Queue, name string, a fairqueue.Ask, d time.Duration) {
	t.Helper()
	go func() {
		s, err := q.Acquire(t.Context(), a)
		if err != nil {
			return
		}
		o.mu.Lock()
		o.got = append(o.got, name)
		o.mu.Unlock()
		time.Sleep(d)
		s.Release()
	}()
	synctest.Wait()
}

func TestAnOrgWithNothingRunningIsNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := fairqueue.New(fairqueue.Options{Capacity: 2})
		var o order
		for i := range 6 {
			o.run(t, q, fmt.Sprint("h", i), ask("h"), time.Duration(i%2+1)*time.Second)
		}
		o.run(t, q, "l", ask("l"), time.Second)
		time.Sleep(1500 * time.Millisecond)
		require.Equal(t, []string{"h0", "h1", "l"}, o.names())
		time.Sleep(time.Minute)
	})
}

func TestIdlenessEarnsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := fairqueue.New(fairqueue.Options{Capacity: 1})
		var o order
		const hold = 250 * time.Millisecond
		for range 50 {
			o.run(t, q, "a", ask("a"), hold)
			o.run(t, q, "b", ask("b"), hold)
		}
		time.Sleep(12 * time.Second)
		o.names()
		for range 20 {
			o.run(t, q, "c", ask("c"), hold)
		}
		time.Sleep(30*hold - time.Nanosecond)
		synctest.Wait()
		got := strings.Join(o.names(), "")
		require.InDelta(t, 10, strings.Count(got, "c"), 1, "c has its third and no more: %s", got)
		time.Sleep(2 * time.Minute)
	})
}

func TestActorsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := fairqueue.New(fairqueue.Options{Capacity: 1})
		var o order
		by := func(path ...string) fairqueue.Ask { return fairqueue.Ask{Orgs: []tenant.ID{"a"}, Actor: path} }
		o.run(t, q, "first", by("u"), time.Second)
		for range 3 {
			o.run(t, q, "u", by("u"), time.Second)
		}
		for range 3 {
			o.run(t, q, "v", by("v"), time.Second)
		}
		o.run(t, q, "w/x", by("w", "x"), time.Second)
		o.run(t, q, "w/x", by("w", "x"), time.Second)
		o.run(t, q, "w/y", by("w", "y", "1", "2", "3", "4", "5", "6"), time.Second)
		o.run(t, q, "w", by("w"), time.Second)
		time.Sleep(time.Minute)
		require.Equal(t, "first u v w/x u v w/y u v w w/x", strings.Join(o.names(), " "))
	})
}

func TestTheReserveLapses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := fairqueue.New(fairqueue.Options{Capacity: 8})
		acquire(t, q, ask("l")).Release()
		var running atomic.Int32
		for range 10 {
			go func() {
				s, err := q.Acquire(t.Context(), ask("h"))
				if err == nil {
					running.Add(1)
					defer s.Release()
					time.Sleep(20 * time.Second)
				}
			}()
		}
		synctest.Wait()
		require.EqualValues(t, 6, running.Load())
		acquire(t, q, ask("l")).Release() // at once
		time.Sleep(10*time.Second - time.Nanosecond)
		synctest.Wait()
		require.EqualValues(t, 6, running.Load())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.EqualValues(t, 8, running.Load())
		time.Sleep(time.Minute)
	})
}

func TestMaxRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		most := 1
		q := fairqueue.New(fairqueue.Options{Capacity: 3, Settings: func(org tenant.ID) fairqueue.Settings {
			if org == "a" {
				return fairqueue.Settings{MaxRunning: most}
			}
			return fairqueue.Settings{}
		}})
		first := acquire(t, q, ask("a"))
		var o order
		o.run(t, q, "a|x", ask("a", "x"), time.Second)
		o.run(t, q, "x", ask("x"), time.Second)
		require.Equal(t, []string{"x"}, o.names(), "what may not run is passed over")
		first.Release()
		require.Equal(t, []string{"a|x"}, o.names())
		time.Sleep(time.Minute)
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		q := fairqueue.New(fairqueue.Options{Capacity: 1, Registerer: reg, Settings: func(tenant.ID) fairqueue.Settings {
			return fairqueue.Settings{MaxWaiting: 3}
		}})
		s := acquire(t, q, ask("a"))
		time.Sleep(1500 * time.Millisecond) // the service time
		s.Release()
		s = acquire(t, q, ask("a"))
		errs := make(chan error, 4)
		wait := func(ctx context.Context, a fairqueue.Ask) {
			go func() {
				_, err := q.Acquire(ctx, a)
				errs <- err
			}()
			synctest.Wait()
		}
		left, leave := context.WithCancel(t.Context())
		short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		wait(t.Context(), ask("a"))
		wait(left, ask("a"))
		wait(short, ask("a"))
		_, err := q.Acquire(t.Context(), ask("b", "a"))
		require.Equal(t, fault.Limited, fault.KindOf(err), "charged to both")
		require.Equal(t, 5*time.Second, fault.RetryAfter(err), "3 × 1.5 s, rounded up")
		require.Contains(t, fault.Message(err), `org "a": 3 wait, the limit is 3, and 1 run`)

		leave()
		require.ErrorIs(t, <-errs, context.Canceled)
		time.Sleep(3 * time.Second)
		require.Equal(t, fault.Deadline, fault.KindOf(<-errs))
		time.Sleep(27 * time.Second)
		err = <-errs
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
		require.Contains(t, fault.Message(err), "30s")
		s.Release()
		require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP millstream_query_queue_ended_total Queries that did not get their turn, by org and outcome.
# TYPE millstream_query_queue_ended_total counter
millstream_query_queue_ended_total{org="a",outcome="canceled"} 1
millstream_query_queue_ended_total{org="a",outcome="deadline"} 1
millstream_query_queue_ended_total{org="a",outcome="refused"} 1
millstream_query_queue_ended_total{org="a",outcome="timed_out"} 1
# HELP millstream_query_queue_capacity Queries that this process lets run at once.
# TYPE millstream_query_queue_capacity gauge
millstream_query_queue_capacity 1
`), "millstream_query_queue_ended_total", "millstream_query_queue_capacity", "millstream_query_queue_length"))
	})
}

func TestPartsAreNotRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := fairqueue.New(fairqueue.Options{Capacity: 1, Settings: func(tenant.ID) fairqueue.Settings {
			return fairqueue.Settings{MaxWaiting: 1}
		}})
		var o order
		o.run(t, q, "1", ask("a"), time.Second)
		o.run(t, q, "2", ask("a"), time.Second)
		o.run(t, q, "3", fairqueue.Ask{Orgs: []tenant.ID{"a"}, Continues: true}, time.Second)
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"1", "2", "3"}, o.names())
	})
}

func TestBusyQueriers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := fairqueue.New(fairqueue.Options{Capacity: 2})
		held := acquire(t, q, ask("a"))
		busy := acquire(t, q, ask("b"))
		var o order
		o.run(t, q, "b", ask("b"), time.Second)
		began := time.Now()
		require.NoError(t, busy.Requeue(t.Context()))
		require.Equal(t, 500*time.Millisecond, time.Since(began), "the slot is left alone for a moment")
		require.Empty(t, o.names(), "the requeued one is first")
		err := busy.Requeue(t.Context())
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
		require.Equal(t, []string{"b"}, o.names(), "the slot is free")
		busy.Release()
		held.Release()
		time.Sleep(time.Minute)
	})
}

func TestASlotThatIsGivenBackEndsThePause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := fairqueue.New(fairqueue.Options{Capacity: 2})
		held := acquire(t, q, ask("a"))
		busy := acquire(t, q, ask("b"))
		time.AfterFunc(100*time.Millisecond, held.Release)
		began := time.Now()
		require.NoError(t, busy.Requeue(t.Context()))
		require.Equal(t, 100*time.Millisecond, time.Since(began))
		busy.Release()
		time.Sleep(time.Minute)
	})
}

func TestCapacityChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := fairqueue.New(fairqueue.Options{Capacity: 1})
		var o order
		for range 4 {
			o.run(t, q, "a", ask("a"), time.Second)
		}
		require.Len(t, o.names(), 1)
		q.SetCapacity(3)
		require.Len(t, o.names(), 2)
		q.SetCapacity(0)
		require.Equal(t, 1, q.Capacity())
		time.Sleep(time.Second)
		require.Len(t, o.names(), 1)
		time.Sleep(time.Minute)
	})
}

func TestAPanicGivesTheSlotBack(t *testing.T) {
	t.Parallel()
	q := fairqueue.New(fairqueue.Options{})
	require.Panics(t, func() {
		s := acquire(t, q, ask("a"))
		defer s.Release()
		panic("in the query")
	})
	s := acquire(t, q, ask("a"))
	s.Release()
	s.Release()
	defer acquire(t, q, ask("a")).Release()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("gone"))
	_, err := q.Acquire(ctx, ask("a"))
	require.EqualError(t, err, "gone")
}

// TestManyAtOnce lets goroutines ask, leave and finish at random: bounds hold at every moment, and nothing is left.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const capacity, each = 5, 2
	reg := prometheus.NewRegistry()
	q := fairqueue.New(fairqueue.Options{Capacity: capacity, Registerer: reg, Settings: func(tenant.ID) fairqueue.Settings {
		return fairqueue.Settings{MaxRunning: each, MaxWaiting: 20}
	}})
	var running atomic.Int32
	var byOrg [4]atomic.Int32
	var wg sync.WaitGroup
	for g := range 40 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(g)))
			for range 50 {
				org := random.IntN(len(byOrg))
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(3000))*time.Microsecond)
				s, err := q.Acquire(ctx, fairqueue.Ask{
					Orgs: []tenant.ID{tenant.ID(rune('a' + org))}, Actor: []string{string(rune('a' + random.IntN(3)))},
				})
				if err == nil {
					if n := running.Add(1); n > capacity {
						t.Errorf("%d run at once", n)
					}
					if n := byOrg[org].Add(1); n > each {
						t.Errorf("%d of one org run at once", n)
					}
					time.Sleep(time.Duration(random.IntN(200)) * time.Microsecond)
					byOrg[org].Add(-1)
					running.Add(-1)
					s.Release()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	n, err := testutil.GatherAndCount(reg, "millstream_query_queue_length", "millstream_query_queue_running")
	require.NoError(t, err)
	require.Zero(t, n, "no org is active")
}
