package fairqueue_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fairqueue"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

// load is the queries of one org: their times of arrival and of service are exponentially distributed.
type load struct {
	org     tenant.ID
	rate    float64       // queries a second
	service time.Duration // mean
	with    []tenant.ID   // orgs that are asked together with org in turn, "" = org alone
}

// outcome is what became of an org's queries.
type outcome struct {
	waits    []time.Duration // of those that got a slot
	held     time.Duration
	limited  int
	timedOut int
}

func (o outcome) quantile(q float64) time.Duration {
	if len(o.waits) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(o.waits))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// drive sends the loads to a queue for a time on a fake clock, and returns what became of each and the share of slot-seconds used. It
// runs inside a synctest bubble.
func drive(t *testing.T, q *fairqueue.Queue, lasts time.Duration, seed uint64, loads ...load) map[tenant.ID]*outcome {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	outcomes := make(map[tenant.ID]*outcome)
	var mu sync.Mutex
	var wg sync.WaitGroup
	end := time.Now().Add(lasts)
	for i, l := range loads {
		o := &outcome{}
		outcomes[l.org] = o
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		exponential := func(mean float64) time.Duration {
			return time.Duration(-math.Log(1-random.Float64()) * mean * float64(time.Second))
		}
		ask := func(n int, service time.Duration) {
			orgs := []tenant.ID{l.org}
			if len(l.with) > 0 && l.with[n%len(l.with)] != "" {
				orgs = append(orgs, l.with[n%len(l.with)])
			}
			asked := time.Now()
			slot, err := q.Acquire(ctx, fairqueue.Ask{Orgs: orgs, Actor: []string{"u"}})
			began := time.Now()
			mu.Lock()
			switch {
			case err == nil:
				o.waits = append(o.waits, began.Sub(asked))
			case fault.Is(err, fault.Limited):
				o.limited++
			case fault.Is(err, fault.Unavailable):
				o.timedOut++
			}
			mu.Unlock()
			if err != nil {
				return
			}
			defer slot.Release()
			time.Sleep(min(service, end.Sub(began)))
			mu.Lock()
			o.held += time.Since(began)
			mu.Unlock()
		}
		wg.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				time.Sleep(exponential(1 / l.rate))
				service := exponential(l.service.Seconds())
				wg.Go(func() { ask(n, service) })
			}
		})
	}
	time.Sleep(lasts)
	stop()
	wg.Wait()
	return outcomes
}

const slots = 8

func share(o *outcome, lasts time.Duration) float64 {
	return 100 * o.held.Seconds() / (slots * lasts.Seconds())
}

var seeds = []uint64{1, 2, 3}

// each runs a scenario with several seeds.
func each(t *testing.T, run func(t *testing.T, seed uint64)) {
	t.Helper()
	for _, seed := range seeds {
		synctest.Test(t, func(t *testing.T) { run(t, seed) })
	}
}

func TestNoLoad(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, seed uint64) {
		got := drive(t, fairqueue.New(fairqueue.Options{Capacity: slots}), 20*time.Minute, seed,
			load{"h", 1, time.Second, nil},
			load{"a", 0.5, 500 * time.Millisecond, nil}, load{"b", 0.5, 500 * time.Millisecond, nil}, load{"c", 0.5, 500 * time.Millisecond, nil})
		for org, o := range got {
			require.Zero(t, o.quantile(0.99), org)
			require.Zero(t, o.limited+o.timedOut, org)
		}
	})
}

func TestAllOverloaded(t *testing.T) {
	t.Parallel()
	const lasts = 10 * time.Minute
	for name, x := range map[string]struct {
		weights map[tenant.ID]float64
		shares  map[tenant.ID]float64
		within  float64
	}{
		"equal":   {shares: map[tenant.ID]float64{"a": 25, "b": 25, "c": 25, "d": 25}, within: 3},
		"weights": {map[tenant.ID]float64{"a": 2}, map[tenant.ID]float64{"a": 50, "b": 25, "c": 25}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, seed uint64) {
				q := fairqueue.New(fairqueue.Options{Capacity: slots, Settings: func(org tenant.ID) fairqueue.Settings {
					return fairqueue.Settings{Weight: x.weights[org]}
				}})
				var loads []load
				for org := range x.shares {
					loads = append(loads, load{org, 8, time.Second, nil})
				}
				got := drive(t, q, lasts, seed, loads...)
				used := 0.0
				for org, o := range got {
					require.InDelta(t, x.shares[org], share(o, lasts), x.within, org)
					require.NotZero(t, o.limited, org)
					require.NotEmpty(t, o.waits, org)
					require.NotZero(t, o.quantile(0.5), org)
					used += share(o, lasts)
				}
				require.InDelta(t, 100, used, 1)
			})
		})
	}
}

func TestOneAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, seed uint64) {
		got := drive(t, fairqueue.New(fairqueue.Options{Capacity: slots}), 20*time.Minute, seed, load{"h", 2, time.Second, nil})
		require.Zero(t, got["h"].quantile(0.99))
		require.Zero(t, got["h"].limited)
		got = drive(t, fairqueue.New(fairqueue.Options{Capacity: slots}), 20*time.Minute, seed, load{"h", 20, time.Second, nil})
		require.InDelta(t, 100, share(got["h"], 20*time.Minute), 1)
	})
}

func TestOneNoisy(t *testing.T) {
	t.Parallel()
	for name, heavy := range map[string]load{
		"many short":          {"h", 20, time.Second, nil},
		"few long":            {"h", 2, 20 * time.Second, nil},
		"with every neighbor": {"h", 20, time.Second, []tenant.ID{"", "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, seed uint64) {
				got := drive(t, fairqueue.New(fairqueue.Options{Capacity: slots}), 20*time.Minute, seed, heavy,
					load{"a", 0.5, 500 * time.Millisecond, nil}, load{"b", 0.5, 500 * time.Millisecond, nil},
					load{"c", 0.5, 500 * time.Millisecond, nil})
				var light outcome
				for _, org := range []tenant.ID{"a", "b", "c"} {
					light.waits = append(light.waits, got[org].waits...)
					require.Zero(t, got[org].limited+got[org].timedOut, org)
				}
				require.LessOrEqual(t, light.quantile(0.99), 1500*time.Millisecond)
				require.NotZero(t, got["h"].limited+got["h"].timedOut)
			})
		})
	}
}

// TestCombinationsGainNothing lets one org ask alone, and with many others in turn, beside an org that asks for itself.
func TestCombinationsGainNothing(t *testing.T) {
	t.Parallel()
	const lasts = 10 * time.Minute
	for name, with := range map[string][]tenant.ID{
		"alone": nil, "alternating": {"", "x"}, "many": {"u", "v", "w", "x", "y", "z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, seed uint64) {
				got := drive(t, fairqueue.New(fairqueue.Options{Capacity: slots}), lasts, seed,
					load{"a", 16, time.Second, with}, load{"b", 16, time.Second, nil})
				require.InDelta(t, 50, share(got["a"], lasts), 4)
				require.InDelta(t, 50, share(got["b"], lasts), 4)
			})
		})
	}
}

// TestOneBusyOrgOfManyUsers lets one org queue a thousand slow queries, by one user and by a hundred, while another asks once a second and
// a third joins later. Four slots, at most four an org.
func TestOneBusyOrgOfManyUsers(t *testing.T) {
	t.Parallel()
	const slow = 2 * time.Second
	for _, users := range []int{1, 100} {
		synctest.Test(t, func(t *testing.T) {
			q := fairqueue.New(fairqueue.Options{Capacity: 4, MaxWait: time.Hour, Settings: func(tenant.ID) fairqueue.Settings {
				return fairqueue.Settings{MaxRunning: 4, MaxWaiting: 1000}
			}})
			var mu sync.Mutex
			served := make(map[string]int) // of the busy org, by user
			busy := func(user string) {
				s, err := q.Acquire(t.Context(), fairqueue.Ask{Orgs: []tenant.ID{"t1"}, Actor: []string{user}})
				if err != nil {
					return
				}
				defer s.Release()
				time.Sleep(slow)
				mu.Lock()
				served[user]++
				mu.Unlock()
			}
			for i := range 1000 {
				go busy(string(rune('a' + i%users)))
			}
			synctest.Wait()
			light := func(org tenant.ID) {
				s := acquire(t, q, ask(org))
				require.LessOrEqual(t, s.Waited(), slow, "about one slow query")
				time.Sleep(100 * time.Millisecond)
				s.Release()
			}
			for i := range 60 {
				light("t2")
				if i > 30 {
					light("t3")
				}
				time.Sleep(time.Second)
			}
			mu.Lock()
			least, most, all := 1000, 0, 0
			for _, n := range served {
				least, most, all = min(least, n), max(most, n), all+n
			}
			mu.Unlock()
			require.GreaterOrEqual(t, all, 80, "the busy org has what the others leave but the reserve")
			require.LessOrEqual(t, most-least, 1, "its users take turns")
			time.Sleep(time.Hour) // the rest
		})
	}
}
