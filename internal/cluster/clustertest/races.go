package clustertest

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster"
)

// crowd is how many act at once.
const crowd = 8

func raceCases() []testCase {
	return []testCase{
		{"one of many claims an id", func(f *fixture) {
			var winners atomic.Int32
			f.together(func(i int) error {
				_, claimed, err := f.Store.Claim(f.ctx(), intake("a", int64(i+1)), 0)
				if claimed {
					winners.Add(1)
				}
				return err
			})
			require.Equal(f.t, int32(1), winners.Load())
		}},
		{"one of many acquires a lease", func(f *fixture) {
			var winners atomic.Int32
			f.together(func(i int) error {
				_, ok, err := f.Store.Acquire(f.ctx(), cluster.LeaseKey{Work: "w", Item: "i"}, strconv.Itoa(i))
				if ok {
					winners.Add(1)
				}
				return err
			})
			require.Equal(f.t, int32(1), winners.Load())
		}},
		{"readers and nodes that come and go", func(f *fixture) {
			stores := []Store{f.Store, f.Second(f.t)}
			var mu sync.Mutex
			f.together(func(i int) error {
				s, n, known := stores[i%len(stores)], intake(fmt.Sprintf("n%d", i), 1), int64(0)
				for round := range 20 {
					if _, err := s.Beat(f.ctx(), cluster.Heartbeat{Node: n, Ready: round%3 > 0}); err != nil {
						return err
					}
					v, err := s.Observe(f.ctx(), known)
					if err != nil {
						return err
					}
					if v.Epoch < known {
						return fmt.Errorf("epoch %d after %d", v.Epoch, known)
					}
					known = v.Epoch
					mu.Lock()
					text, seen := f.texts[v.Epoch]
					f.texts[v.Epoch] = encode(f.t, v)
					differs := seen && text != f.texts[v.Epoch]
					mu.Unlock()
					if differs {
						return fmt.Errorf("two views of an epoch: %s and %s", text, encode(f.t, v))
					}
					if round%5 == 4 {
						if err := s.Leave(f.ctx(), n.ID, 1); err != nil {
							return err
						}
					}
				}
				return nil
			})
		}},
	}
}

// together runs do for 0 to crowd-1 at once.
func (f *fixture) together(do func(i int) error) {
	f.t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, crowd)
	for i := range crowd {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(f.t, err)
	}
}
