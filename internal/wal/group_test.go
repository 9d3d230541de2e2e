package wal_test

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/wal"
	"github.com/millstream/millstream/internal/wal/faultfs"
)

// TestGroupTimer shows the rule of batch mode with a clock that stands still: an idle log writes at once, a busy one paces its
// groups, and the last record of a burst is written though nothing follows it.
func TestGroupTimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fs := faultfs.New()
		l := openLog(t, fs, nil)
		start := time.Now()
		put(t, l, testKey(1), 1, "idle")
		require.Zero(t, time.Since(start))

		fs.Inject(faultfs.Fault{Op: faultfs.OpSync, Delay: time.Millisecond})
		enqueue := func(first, last uint64) (lsn wal.LSN) {
			for seq := first; seq <= last; seq++ {
				var err error
				lsn, err = l.Enqueue(wal.Record{Key: testKey(1), Seq: seq})
				require.NoError(t, err)
			}
			return lsn
		}
		begin := time.Now()
		enqueue(2, 2)
		synctest.Wait() // the group of one is being synced
		require.NoError(t, l.Wait(t.Context(), enqueue(3, 9)))
		require.Equal(t, 2*time.Millisecond, time.Since(begin), "what came meanwhile follows at once")

		second := begin.Add(time.Millisecond)
		require.NoError(t, l.Wait(t.Context(), enqueue(10, 10)))
		require.Equal(t, wal.DefaultBatchMaxDelay+time.Millisecond, time.Since(second), "under load groups start one delay apart")
		require.Equal(t, uint64(4), l.Stats().Groups)
		require.NoError(t, l.Close())
	})
}

func TestGroupBytesCloseGroup(t *testing.T) {
	t.Parallel()
	fs := faultfs.New()
	hold := make(chan struct{})
	fs.Inject(faultfs.Fault{Op: faultfs.OpSync, Glob: "*.wal", Hold: hold})
	l := openLog(t, fs, func(o *wal.Options, _ *wal.Deps) { o.GroupMaxBytes, o.BatchMaxDelay = 200, time.Hour })
	var last wal.LSN
	for seq := range uint64(9) {
		var err error
		last, err = l.Enqueue(wal.Record{Key: testKey(1), Seq: seq + 1, Payload: make([]byte, 40)})
		require.NoError(t, err)
	}
	close(hold)
	require.NoError(t, l.Wait(context.Background(), last-1))
	require.GreaterOrEqual(t, l.Stats().Groups, uint64(3))
	require.NoError(t, l.Close(), "Close writes the open group without its timer")
	require.NoError(t, l.Wait(context.Background(), last))
}

func TestSyncModes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode     wal.SyncMode
		syncs    int
		groups   uint64
		survives bool
	}{{wal.SyncEveryWrite, 5, 5, true}, {wal.SyncNone, 0, 0, false}} {
		t.Run(string(c.mode), func(t *testing.T) {
			t.Parallel()
			fs := faultfs.New()
			var mu sync.Mutex
			syncs := 0
			fs.Inject(faultfs.Fault{Op: faultfs.OpSync, Glob: "*.wal", Hit: func() { mu.Lock(); syncs++; mu.Unlock() }})
			l := openLog(t, fs, func(o *wal.Options, _ *wal.Deps) { o.Sync = c.mode })
			var last wal.LSN
			for seq := range uint64(5) {
				var err error
				last, err = l.Enqueue(wal.Record{Key: testKey(1), Seq: seq + 1})
				require.NoError(t, err)
			}
			require.NoError(t, l.Wait(context.Background(), last))
			mu.Lock()
			require.Equal(t, c.syncs, syncs)
			mu.Unlock()
			if c.groups > 0 {
				require.Equal(t, c.groups, l.Stats().Groups)
			}
			killed := fs.Clone()
			require.NoError(t, l.Close())
			got, _ := replayAll(t, openLog(t, killed, nil))
			require.Len(t, got, 5, "a killed process loses nothing in either mode")
		})
	}
}

func TestEnqueueRefusals(t *testing.T) {
	t.Parallel()
	l := openLog(t, faultfs.New(), func(o *wal.Options, _ *wal.Deps) { o.MaxPendingBytes = 200 })
	key := testKey(1)
	_, err := l.Enqueue(wal.Record{Key: key, Seq: 1, Payload: make([]byte, 200)})
	require.ErrorIs(t, err, wal.ErrTooLarge)
	require.Equal(t, fault.TooLarge, fault.KindOf(err))
	_, err = l.Reserve(context.Background(), key, 200)
	require.ErrorIs(t, err, wal.ErrTooLarge)
	_, err = l.Enqueue(wal.Record{Seq: 1})
	require.Equal(t, fault.Internal, fault.KindOf(err))
	put(t, l, key, 5, "x")
	_, err = l.Enqueue(wal.Record{Key: key, Seq: 5})
	require.Equal(t, fault.Internal, fault.KindOf(err))
	require.Equal(t, fault.Internal, fault.KindOf(l.Wait(context.Background(), 99)))
	require.NoError(t, l.Close())
	_, err = l.Enqueue(wal.Record{Key: key, Seq: 6})
	require.ErrorIs(t, err, wal.ErrClosed)
	require.ErrorIs(t, l.Close(), wal.ErrClosed)
}

func TestBackPressure(t *testing.T) {
	t.Parallel()
	fs := faultfs.New()
	hold := make(chan struct{})
	fs.Inject(faultfs.Fault{Op: faultfs.OpSync, Glob: "*.wal", Hold: hold})
	l := openLog(t, fs, func(o *wal.Options, _ *wal.Deps) { o.MaxPendingBytes = 400 })
	key := testKey(1)
	first, err := l.Enqueue(wal.Record{Key: key, Seq: 1, Payload: make([]byte, 300)})
	require.NoError(t, err)
	_, err = l.Enqueue(wal.Record{Key: key, Seq: 2, Payload: make([]byte, 300)})
	require.ErrorIs(t, err, wal.ErrBusy)
	require.Equal(t, fault.Unavailable, fault.KindOf(err))
	require.Positive(t, fault.RetryAfter(err))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = l.Reserve(ctx, key, 300)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, l.Wait(ctx, first), context.Canceled)

	close(hold)
	room, err := l.Reserve(context.Background(), key, 300)
	require.NoError(t, err)
	_, err = room.Enqueue(wal.Record{Key: key, Seq: 2, Payload: make([]byte, 301)})
	require.Equal(t, fault.Internal, fault.KindOf(err))
	lsn, err := room.Enqueue(wal.Record{Key: key, Seq: 2, Payload: make([]byte, 100)})
	require.NoError(t, err)
	_, err = room.Enqueue(wal.Record{Key: key, Seq: 3})
	require.Equal(t, fault.Internal, fault.KindOf(err))
	room.Release()
	require.NoError(t, l.Wait(context.Background(), lsn))
	for range 3 { // nothing has leaked
		room, err = l.Reserve(context.Background(), key, 342)
		require.NoError(t, err)
		room.Release()
		room.Release()
	}
}

// TestOnGroup checks the order of events around success and failure.
func TestOnGroup(t *testing.T) {
	t.Parallel()
	fs := faultfs.New()
	type call struct {
		first, last wal.LSN
		failed      bool
	}
	var calls []call // written by the committer, read after Close
	var l *wal.Log
	refused := make(chan error, 1)
	l = openLog(t, fs, func(_ *wal.Options, d *wal.Deps) {
		d.OnGroup = func(first, last wal.LSN, err error) {
			calls = append(calls, call{first, last, err != nil})
			if err != nil {
				_, e := l.Enqueue(wal.Record{Key: testKey(1), Seq: 99})
				refused <- e
			}
		}
	})
	put(t, l, testKey(1), 1, "kept")
	hold, reached := make(chan struct{}), make(chan struct{})
	fs.Inject(faultfs.Fault{Op: faultfs.OpSync, Times: 1, Err: syscall.EIO, Hold: hold, Hit: func() { close(reached) }})
	second, err := l.Enqueue(wal.Record{Key: testKey(1), Seq: 2})
	require.NoError(t, err)
	<-reached
	third, err := l.Enqueue(wal.Record{Key: testKey(1), Seq: 3})
	require.NoError(t, err)
	close(hold)
	for _, lsn := range []wal.LSN{second, third} {
		err := l.Wait(context.Background(), lsn)
		require.ErrorIs(t, err, wal.ErrWrite)
		require.ErrorIs(t, err, syscall.EIO)
		require.Equal(t, fault.Unavailable, fault.KindOf(err))
		require.True(t, l.Failed(lsn))
	}
	require.ErrorIs(t, <-refused, wal.ErrWrite)
	require.Equal(t, third, l.Durable())
	lsn := put(t, l, testKey(1), 2, "again")
	require.False(t, l.Failed(lsn))
	require.NoError(t, l.Close())
	require.Equal(t, []call{{1, 1, false}, {2, 3, true}, {4, 4, false}}, calls)
	got, _ := replayAll(t, openLog(t, fs, nil))
	require.Equal(t, []uint64{1, 2}, seqs(got))
	require.Equal(t, "again", string(got[1].Payload))
}
