package wal_test

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/wal"
	"github.com/millstream/millstream/internal/wal/faultfs"
)

// TestRefusedRecordNeverReplacesItsSuccessor fails the sync of a group so badly that its bytes stay in the segment, and the next file,
// too. The record that took the refused number is the one that replays, whatever is left on disk.
func TestRefusedRecordNeverReplacesItsSuccessor(t *testing.T) {
	t.Parallel()
	for _, attempts := range []int{1, 2} {
		disk := faultfs.New()
		l := openLog(t, disk, nil)
		put(t, l, testKey(1), 1, "first")
		disk.Inject(faultfs.Fault{Op: faultfs.OpSync, Err: syscall.EIO})
		disk.Inject(faultfs.Fault{Op: faultfs.OpTruncate, Err: syscall.EIO})
		disk.Inject(faultfs.Fault{Op: faultfs.OpRemove, Err: syscall.EIO})
		for range attempts {
			lsn, err := l.Enqueue(wal.Record{Key: testKey(1), Seq: 2, Payload: []byte("refused")})
			require.NoError(t, err)
			require.ErrorIs(t, l.Wait(context.Background(), lsn), wal.ErrWrite)
		}
		disk.Heal()
		put(t, l, testKey(1), 2, "kept")
		after := []*faultfs.FS{disk.Clone()}
		for seed := range uint64(20) {
			after = append(after, disk.Crash(seed))
		}
		for _, left := range after {
			restarted := openLog(t, left, nil)
			got, _ := replayAll(t, restarted)
			require.Equal(t, []uint64{1, 2}, seqs(got))
			require.Equal(t, "kept", string(got[1].Payload))
			require.NoError(t, restarted.MoveAside(context.Background(), testKey(1)), "the copy leaves refused records behind")
			require.NoError(t, restarted.Close())
			got, _ = replayAll(t, openLog(t, left, nil))
			require.Len(t, got, 2)
			require.Equal(t, "kept", string(got[1].Payload))
		}
	}
}

// TestReplayedRecordsStay kills a process between write and fsync. What the next start has shown must survive a power cut.
func TestReplayedRecordsStay(t *testing.T) {
	t.Parallel()
	disk := faultfs.New()
	l := openLog(t, disk, nil)
	hold, reached := make(chan struct{}), make(chan struct{})
	disk.Inject(faultfs.Fault{Op: faultfs.OpSync, Times: 1, Hold: hold, Hit: func() { close(reached) }})
	_, err := l.Enqueue(wal.Record{Key: testKey(1), Seq: 1, Payload: []byte("written, not synced")})
	require.NoError(t, err)
	<-reached
	killed := disk.Clone()
	close(hold)
	got, _ := replayAll(t, openLog(t, killed, nil))
	require.Len(t, got, 1)
	for seed := range uint64(20) {
		again, _ := replayAll(t, openLog(t, killed.Crash(seed), nil))
		require.Equal(t, got, again, "seed %d", seed)
	}
}
