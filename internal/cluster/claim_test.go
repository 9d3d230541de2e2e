package cluster_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/clustertest"
)

func membership(t *testing.T, store cluster.Store, n cluster.Node) *cluster.Membership {
	t.Helper()
	m, err := cluster.New(cluster.Options{Self: n}, store)
	require.NoError(t, err)
	return m
}

func holdsLock(of ...int64) func(int64) bool {
	return func(incarnation int64) bool { return len(of) > 0 && incarnation == of[0] }
}

func TestClaimOfAFreeID(t *testing.T) {
	bubble(t, func(t *testing.T, store *clustertest.Memory) {
		start := time.Now()
		require.NoError(t, membership(t, store, intakeNode("a", 1)).Claim(t.Context(), holdsLock()))
		require.Zero(t, time.Since(start))
	})
}

func TestClaimWithTheLockIsAtOnceAndKeepsThePlace(t *testing.T) {
	bubble(t, func(t *testing.T, store *clustertest.Memory) {
		a, old := join(t, store, intakeNode("a", 1)), join(t, store, intakeNode("b", 2))
		a.SetReady(true)
		old.SetReady(true)
		time.Sleep(2 * peerTimeout)
		old.kill()
		epoch := a.Current().Epoch
		start := time.Now()
		m := membership(t, store, intakeNode("b", 3))
		require.NoError(t, m.Claim(t.Context(), holdsLock(2)))
		require.Zero(t, time.Since(start))
		again := run(t, m)
		time.Sleep(peerTimeout / 2)
		again.SetReady(true)
		time.Sleep(3 * peerTimeout)
		require.Equal(t, []string{"a", "b"}, intakes(t, a.Membership))
		require.Equal(t, epoch+1, a.Current().Epoch, "only the incarnation has changed")
	})
}

func TestClaimWaitsForSilence(t *testing.T) {
	bubble(t, func(t *testing.T, store *clustertest.Memory) {
		old := join(t, store, intakeNode("a", 1))
		synctest.Wait()
		old.kill()
		start := time.Now()
		require.NoError(t, membership(t, store, intakeNode("a", 2)).Claim(t.Context(), holdsLock()))
		require.GreaterOrEqual(t, time.Since(start), peerTimeout)
		require.LessOrEqual(t, time.Since(start), peerTimeout+cacheFor)
	})
}

func TestClaimGivesUpOnALivingRival(t *testing.T) {
	bubble(t, func(t *testing.T, store *clustertest.Memory) {
		join(t, store, intakeNode("a", 1))
		synctest.Wait()
		start := time.Now()
		err := membership(t, store, intakeNode("a", 2)).Claim(t.Context(), holdsLock(7))
		require.ErrorIs(t, err, cluster.ErrSuperseded)
		require.ErrorContains(t, err, "a is also the id of the process at a:5082 (incarnation 1")
		require.GreaterOrEqual(t, time.Since(start), 2*peerTimeout)
		require.LessOrEqual(t, time.Since(start), 2*peerTimeout+cacheFor)
	})
}

func TestClaimWaitsForTheStore(t *testing.T) {
	bubble(t, func(t *testing.T, store *clustertest.Memory) {
		store.SetAway(true)
		m := membership(t, store, intakeNode("a", 1))
		claimed := make(chan error, 1)
		go func() { claimed <- m.Claim(t.Context(), holdsLock()) }()
		time.Sleep(time.Hour)
		require.Empty(t, claimed)
		store.SetAway(false)
		require.NoError(t, <-claimed)

		store.SetAway(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, m.Claim(ctx, holdsLock()), context.DeadlineExceeded)
	})
}

func TestARivalEndsRun(t *testing.T) {
	bubble(t, func(t *testing.T, store *clustertest.Memory) {
		first := join(t, store, intakeNode("a", 1))
		synctest.Wait()
		rival := membership(t, store, intakeNode("a", 2))
		require.NoError(t, rival.Claim(t.Context(), holdsLock(1)), "it holds a copy of the data directory")
		second := run(t, rival)
		second.SetReady(true)
		time.Sleep(heartbeat + cacheFor)
		require.True(t, first.Superseded())
		require.False(t, second.Superseded())
		require.Equal(t, []string{"a"}, intakes(t, first.Membership))
		<-first.done
		require.ErrorIs(t, first.err, cluster.ErrSuperseded)
		require.ErrorContains(t, first.err, "give every node an id of its own")
		select {
		case <-second.done:
			require.Fail(t, "the rival goes on", second.err)
		default:
		}
	})
}

func TestAPausedNodeTakesItsIDBackFromADeadRival(t *testing.T) {
	bubble(t, func(t *testing.T, store *clustertest.Memory) {
		first := join(t, store, intakeNode("a", 1))
		first.SetReady(true)
		synctest.Wait()
		_, claimed, err := store.Claim(t.Context(), intakeNode("a", 2), 1) // and never beats
		require.NoError(t, err)
		require.True(t, claimed)
		time.Sleep(heartbeat + time.Second)
		require.True(t, first.Superseded())
		time.Sleep(peerTimeout)
		require.False(t, first.Superseded())
		time.Sleep(cacheFor)
		require.Equal(t, []string{"a"}, intakes(t, first.Membership))
	})
}
