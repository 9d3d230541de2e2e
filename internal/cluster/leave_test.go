package cluster_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/clustertest"
)

func TestDrain(t *testing.T) {
	bubble(t, func(t *testing.T, store *clustertest.Memory) {
		a, b := join(t, store, intakeNode("a", 1)), join(t, store, intakeNode("b", 2))
		a.SetReady(true)
		b.SetReady(true)
		time.Sleep(2 * peerTimeout)
		_, err := store.RequestDrain(t.Context(), "b")
		require.NoError(t, err)
		start := time.Now()
		<-b.Drain()
		require.LessOrEqual(t, time.Since(start), heartbeat)
		time.Sleep(cacheFor)
		require.Equal(t, []string{"a"}, intakes(t, a.Membership))

		b.SetProgress(cluster.Progress{Phase: "flushing", UnflushedRows: 7})
		time.Sleep(heartbeat)
		require.Equal(t, cluster.Progress{Phase: "flushing", UnflushedRows: 7}, drainOf(t, store).Progress)
		b.SetProgress(cluster.Progress{Phase: "drained"})
		require.NoError(t, b.EndDrain(t.Context()))
		end := drainOf(t, store)
		require.Equal(t, "drained", end.Phase)
		require.NotZero(t, end.Ended)
		time.Sleep(time.Minute)
		require.Equal(t, end, drainOf(t, store), "nothing follows the end")
		select {
		case <-a.Drain():
			require.Fail(t, "nobody asked a")
		default:
		}
	})
}

func drainOf(t *testing.T, store cluster.Store) cluster.Drain {
	t.Helper()
	all, err := store.Drains(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

func TestLeaveIsTriedUntilItSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T, store *clustertest.Memory) {
		a := join(t, store, intakeNode("a", 1))
		a.SetReady(true)
		synctest.Wait()
		store.SetAway(true)
		require.Error(t, a.Leave(t.Context()))
		time.Sleep(time.Second)
		store.SetAway(false)
		time.Sleep(heartbeat)
		all, err := store.Statuses(t.Context())
		require.NoError(t, err)
		require.Empty(t, all)
		require.NoError(t, a.Leave(t.Context()), "again")
	})
}

// slowBeats holds heartbeats on their way to the store.
type slowBeats struct {
	*clustertest.Memory

	beats atomic.Int32
	hold  chan struct{}
}

func (s *slowBeats) Beat(ctx context.Context, hb cluster.Heartbeat) (bool, error) {
	s.beats.Add(1)
	<-s.hold
	return s.Memory.Beat(ctx, hb)
}

func TestNoHeartbeatFollowsALeave(t *testing.T) {
	bubble(t, func(t *testing.T, memory *clustertest.Memory) {
		store := &slowBeats{Memory: memory, hold: make(chan struct{})}
		a := join(t, store, intakeNode("a", 1))
		synctest.Wait()
		require.Equal(t, int32(1), store.beats.Load(), "one is on its way")
		left := make(chan error, 1)
		go func() { left <- a.Leave(t.Context()) }()
		synctest.Wait()
		require.Empty(t, left, "the leave waits for it")
		close(store.hold)
		require.NoError(t, <-left)
		a.SetReady(true)
		time.Sleep(time.Minute)
		require.Equal(t, int32(1), store.beats.Load())
		all, err := memory.Statuses(t.Context())
		require.NoError(t, err)
		require.Empty(t, all)
	})
}
