package cluster_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/clustertest"
	"github.com/millstream/millstream/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The times of a cluster by default.
const (
	heartbeat   = 5 * time.Second
	peerTimeout = 15 * time.Second
	cacheFor    = 2 * time.Second
)

// bubble runs a test in a bubble of testing/synctest, where time passes only while everybody waits.
func bubble(t *testing.T, test func(t *testing.T, store *clustertest.Memory)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		test(t, clustertest.NewMemory(clock.System{}, peerTimeout))
	})
}

func intakeNode(id string, incarnation int64) cluster.Node {
	return cluster.Node{ID: id, Incarnation: incarnation, Roles: []cluster.Role{cluster.RoleIntake}, Address: id + ":5082"}
}

// process is a running membership.
type process struct {
	*cluster.Membership

	err  error         // of Run, once done is closed
	done chan struct{} // closed when Run has returned
	kill func()        // ends Run and waits
}

func join(t *testing.T, store cluster.Store, n cluster.Node) *process {
	t.Helper()
	m, err := cluster.New(cluster.Options{Self: n}, store)
	require.NoError(t, err)
	return run(t, m)
}

func run(t *testing.T, m *cluster.Membership) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &process{Membership: m, done: make(chan struct{})}
	p.kill = func() {
		cancel()
		<-p.done
	}
	t.Cleanup(p.kill)
	go func() {
		defer close(p.done)
		p.err = m.Run(ctx)
	}()
	return p
}

// intakes returns the ids of the intake members that a process sees.
func intakes(t *testing.T, m *cluster.Membership) []string {
	t.Helper()
	v, err := m.View(t.Context())
	require.NoError(t, err)
	var out []string
	for _, n := range v.Members[cluster.RoleIntake] {
		out = append(out, n.ID)
	}
	return out
}

func TestJoinCrashAndLeave(t *testing.T) {
	bubble(t, func(t *testing.T, store *clustertest.Memory) {
		a, b := join(t, store, intakeNode("a", 1)), join(t, store, intakeNode("b", 2))
		synctest.Wait()
		require.Empty(t, intakes(t, a.Membership), "nobody is ready")
		a.SetReady(true)
		time.Sleep(cacheFor)
		require.Equal(t, []string{"a"}, intakes(t, b.Membership), "the first joins at once")
		b.SetReady(true)
		time.Sleep(peerTimeout - time.Second)
		require.Equal(t, []string{"a"}, intakes(t, a.Membership))
		time.Sleep(time.Second + cacheFor)
		require.Equal(t, []string{"a", "b"}, intakes(t, a.Membership))

		b.kill()
		time.Sleep(peerTimeout - heartbeat)
		require.Equal(t, []string{"a", "b"}, intakes(t, a.Membership))
		time.Sleep(heartbeat + cacheFor)
		require.Equal(t, []string{"a"}, intakes(t, a.Membership), "17 s after the crash at the latest")

		c := join(t, store, intakeNode("c", 3))
		c.SetReady(true)
		time.Sleep(peerTimeout + 2*cacheFor)
		require.Equal(t, []string{"a", "c"}, intakes(t, a.Membership))
		require.NoError(t, c.Leave(t.Context()))
		time.Sleep(cacheFor)
		require.Equal(t, []string{"a"}, intakes(t, a.Membership))
		time.Sleep(2 * heartbeat)
		require.Equal(t, []string{"a"}, intakes(t, c.Membership), "it goes on reading, and beats no more")
		c.kill()
		require.NoError(t, c.err)
	})
}

func TestSweepOfSilentNodes(t *testing.T) {
	bubble(t, func(t *testing.T, store *clustertest.Memory) {
		a, b := join(t, store, intakeNode("a", 1)), join(t, store, intakeNode("b", 2))
		a.SetReady(true)
		b.SetReady(true)
		synctest.Wait()
		b.kill()
		time.Sleep(cluster.SilentRowsFor + cluster.SilentRowsFor/5 + heartbeat)
		all, err := store.Statuses(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
	})
}

func TestAnAbsentStore(t *testing.T) {
	bubble(t, func(t *testing.T, store *clustertest.Memory) {
		reg := prometheus.NewRegistry()
		m, err := cluster.New(cluster.Options{Self: intakeNode("a", 1), Registerer: reg}, store)
		require.NoError(t, err)
		store.SetAway(true)
		a, b := run(t, m), join(t, store, intakeNode("b", 2))
		_, err = a.View(t.Context())
		require.True(t, fault.Is(err, fault.Unavailable), err)
		require.Nil(t, a.Current())
		require.Zero(t, a.Stale())

		store.SetAway(false)
		a.SetReady(true)
		b.SetReady(true)
		time.Sleep(2 * peerTimeout)
		require.Equal(t, []string{"a", "b"}, intakes(t, a.Membership))
		require.Zero(t, a.Stale())
		epoch := a.Current().Epoch
		require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP millstream_cluster_members Members that this node sees, by role.
# TYPE millstream_cluster_members gauge
millstream_cluster_members{role="alert"} 0
millstream_cluster_members{role="compactor"} 0
millstream_cluster_members{role="intake"} 2
millstream_cluster_members{role="querier"} 0
millstream_cluster_members{role="router"} 0
millstream_cluster_members{role="standalone"} 0
# HELP millstream_cluster_view_stale_seconds Age of the view when it is older than it should be: the database does not answer. Else 0.
# TYPE millstream_cluster_view_stale_seconds gauge
millstream_cluster_view_stale_seconds 0
`), "millstream_cluster_members", "millstream_cluster_view_stale_seconds"))

		store.SetAway(true)
		time.Sleep(time.Hour)
		require.Equal(t, []string{"a", "b"}, intakes(t, a.Membership), "the last good view")
		require.InDelta(t, time.Hour, a.Stale(), float64(peerTimeout))

		store.SetAway(false)
		time.Sleep(2 * peerTimeout)
		require.Zero(t, a.Stale())
		require.Equal(t, epoch, a.Current().Epoch, "the outage has moved nobody")
		require.Equal(t, []string{"a", "b"}, intakes(t, b.Membership))
	})
}

func TestARestoredStoreRepeatsNoEpoch(t *testing.T) {
	bubble(t, func(t *testing.T, store *clustertest.Memory) {
		a := join(t, store, intakeNode("a", 1))
		a.SetReady(true)
		time.Sleep(peerTimeout)
		epoch := a.Current().Epoch
		store.Lose()
		time.Sleep(2 * cacheFor)
		require.Greater(t, a.Current().Epoch, epoch)
		require.Equal(t, []string{"a"}, intakes(t, a.Membership))
	})
}

// slowStore counts questions and can hold them.
type slowStore struct {
	*clustertest.Memory

	asked atomic.Int32
	hold  chan struct{} // questions wait until it is closed; nil: not at all
}

func (s *slowStore) Observe(ctx context.Context, known int64) (*cluster.View, error) {
	s.asked.Add(1)
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Memory.Observe(ctx, known)
}

func TestViewIsSharedAndCached(t *testing.T) {
	bubble(t, func(t *testing.T, memory *clustertest.Memory) {
		store := &slowStore{Memory: memory, hold: make(chan struct{})}
		m, err := cluster.New(cluster.Options{Self: intakeNode("a", 1)}, store)
		require.NoError(t, err)
		got := make(chan *cluster.View)
		for range 20 {
			go func() {
				v, err := m.View(t.Context())
				if err != nil {
					t.Error(err)
				}
				got <- v
			}()
		}
		synctest.Wait()
		require.Equal(t, int32(1), store.asked.Load(), "one question for all")
		close(store.hold)
		first := <-got
		for range 19 {
			require.Same(t, first, <-got)
		}
		time.Sleep(cacheFor)
		_, err = m.View(t.Context())
		require.NoError(t, err)
		require.Equal(t, int32(1), store.asked.Load())
		time.Sleep(time.Nanosecond)
		v, err := m.View(t.Context())
		require.NoError(t, err)
		require.Same(t, first, v, "the same epoch is the same view")
		require.Equal(t, int32(2), store.asked.Load())
	})
}

func TestAHangingStoreHoldsNobodyUp(t *testing.T) {
	bubble(t, func(t *testing.T, memory *clustertest.Memory) {
		store := &slowStore{Memory: memory}
		m, err := cluster.New(cluster.Options{Self: intakeNode("a", 1)}, store)
		require.NoError(t, err)
		_, err = m.View(t.Context())
		require.NoError(t, err)
		time.Sleep(cacheFor + 1)
		store.hold = make(chan struct{})
		defer close(store.hold)
		start := time.Now()
		_, err = m.View(t.Context())
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(start), time.Second)
		start = time.Now()
		_, err = m.View(t.Context())
		require.NoError(t, err)
		require.Zero(t, time.Since(start), "once is enough")
		require.Positive(t, m.Stale())
	})
}

func TestAnImpatientCallerSpoilsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, memory *clustertest.Memory) {
		store := &slowStore{Memory: memory, hold: make(chan struct{})}
		m, err := cluster.New(cluster.Options{Self: intakeNode("a", 1)}, store)
		require.NoError(t, err)
		leader := make(chan error)
		go func() {
			_, err := m.View(t.Context())
			leader <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = m.View(ctx)
		require.ErrorIs(t, err, context.Canceled)
		close(store.hold)
		require.NoError(t, <-leader)
	})
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]cluster.Options{
		"node id":                       {Self: cluster.Node{ID: "a/b", Incarnation: 1, Roles: cluster.Roles()}},
		"no role":                       {Self: cluster.Node{ID: "a", Incarnation: 1}},
		"not positive":                  {Self: cluster.Node{ID: "a", Roles: cluster.Roles()}},
		"shorter than two heartbeat in": {Self: intakeNode("a", 1), PeerTimeout: heartbeat},
	} {
		_, err := cluster.New(o, nil)
		require.True(t, fault.Is(err, fault.Invalid), want)
		require.ErrorContains(t, err, want)
	}
}

func TestStatic(t *testing.T) {
	t.Parallel()
	s := cluster.NewStatic(cluster.Node{ID: "s", Incarnation: 3, Roles: []cluster.Role{cluster.RoleStandalone}})
	v, err := s.View(t.Context())
	require.NoError(t, err)
	require.Same(t, v, s.Current())
	require.True(t, v.IsMember(cluster.RoleCompactor, "s"))
	require.True(t, v.IsMember(cluster.RoleAlert, "s"))
	require.False(t, v.IsMember(cluster.RoleIntake, "s"))
	require.Zero(t, s.Stale())
	n, ok := v.Node("s")
	require.True(t, ok)
	require.Equal(t, int64(3), n.Incarnation)
	require.Equal(t, []cluster.Node{n}, v.Nodes())
	_, ok = v.Node("t")
	require.False(t, ok)
}
