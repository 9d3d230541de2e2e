package wal_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/testkit/smalldisk"
	"github.com/millstream/millstream/internal/wal"
	"github.com/millstream/millstream/internal/wal/faultfs"
)

// TestFullDisk is case W02: a full disk refuses without half records, gives up its reserve, and the log goes on by itself.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New()
		disk.SetCapacity(16 << 10)
		reg := prometheus.NewRegistry()
		l := openLog(t, disk, func(o *wal.Options, d *wal.Deps) { o.ReserveSize, d.Registerer = 1<<20, reg })
		reserve, err := disk.ReadFile(testDir + "/reserve")
		require.NoError(t, err)
		require.Len(t, reserve, 1<<10, "one sixteenth of the disk")
		kept := fill(t, l)
		require.True(t, l.Stats().Full)
		_, err = disk.ReadFile(testDir + "/reserve")
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.Less(t, disk.Used(), int64(16<<10)-512, "the reserve is there for others")
		require.Positive(t, metric(t, reg, "millstream_wal_write_errors_total"))

		crashed := disk.Crash(1)
		got, report := replayAll(t, openLog(t, crashed, func(o *wal.Options, _ *wal.Deps) { o.Node = "n2" }))
		require.Len(t, got, int(kept))
		require.True(t, report.Clean())
		require.Empty(t, report.Torn, "no half record stays")

		time.Sleep(time.Minute)
		_, err = l.Enqueue(wal.Record{Key: testKey(1), Seq: kept + 1, Payload: make([]byte, 700)})
		require.ErrorIs(t, err, wal.ErrFull)
		require.Less(t, disk.Used(), int64(16<<10)-512, "the log does not take the reserve back while nothing else is free")
		disk.SetCapacity(64 << 10)
		time.Sleep(wal.DefaultRetryInterval)
		synctest.Wait()
		require.False(t, l.Stats().Full)
		put(t, l, testKey(1), kept+1, "room again")
		l.Release(testKey(1), kept+1)
		require.NoError(t, l.Close())
	})
}

// fill enqueues until the log refuses and returns the last number kept.
func fill(t *testing.T, l *wal.Log) uint64 {
	t.Helper()
	for seq := uint64(1); ; seq++ {
		lsn, err := l.Enqueue(wal.Record{Key: testKey(1), Seq: seq, Payload: make([]byte, 700)})
		require.NoError(t, err)
		if err := l.Wait(context.Background(), lsn); err != nil {
			require.ErrorIs(t, err, wal.ErrFull)
			require.Equal(t, fault.Unavailable, fault.KindOf(err))
			require.Positive(t, fault.RetryAfter(err))
			return seq - 1
		}
	}
}

// TestReleaseEndsFullDisk frees space by truncation alone.
func TestReleaseEndsFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		disk := faultfs.New()
		disk.SetCapacity(16 << 10)
		l := openLog(t, disk, func(o *wal.Options, _ *wal.Deps) { o.ReserveSize, o.SegmentSize = 1<<10, 4<<10 })
		kept := fill(t, l)
		l.Release(testKey(1), kept-1)
		synctest.Wait()
		require.False(t, l.Stats().Full)
		put(t, l, testKey(1), kept+1, "room again")
		require.NoError(t, l.Close())
	})
}

// TestStartOnFullDisk starts, refuses, replays, and accepts once there is room.
func TestStartOnFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		disk, _ := written(t, 3)
		disk.SetCapacity(disk.Used())
		l := openLog(t, disk, func(o *wal.Options, _ *wal.Deps) { o.ReserveSize = 1 << 10 })
		got, _ := replayAll(t, l)
		require.Len(t, got, 3)
		_, err := l.Enqueue(wal.Record{Key: testKey(2), Seq: 1})
		require.ErrorIs(t, err, wal.ErrFull)
		disk.SetCapacity(1 << 20)
		time.Sleep(wal.DefaultRetryInterval)
		synctest.Wait()
		put(t, l, testKey(2), 1, "room")
		require.NoError(t, l.Close())
	})
}

// TestShortWriteEverywhere fails the write of a record after each number of bytes.
func TestShortWriteEverywhere(t *testing.T) {
	t.Parallel()
	for short := range 90 {
		disk := faultfs.New()
		l := openLog(t, disk, nil)
		put(t, l, testKey(1), 1, "first")
		disk.Inject(faultfs.Fault{Op: faultfs.OpWrite, Times: 1, Err: syscall.EIO, Short: short})
		lsn, err := l.Enqueue(wal.Record{Key: testKey(1), Seq: 2, Payload: make([]byte, 20)})
		require.NoError(t, err)
		require.ErrorIs(t, l.Wait(context.Background(), lsn), wal.ErrWrite)
		killed := disk.Clone()
		put(t, l, testKey(1), 2, "second")
		require.NoError(t, l.Close())
		got, report := replayAll(t, openLog(t, killed, nil))
		require.Equal(t, []uint64{1}, seqs(got), "short %d", short)
		require.Empty(t, report.Torn)
		got, report = replayAll(t, openLog(t, disk, nil))
		require.Equal(t, []uint64{1, 2}, seqs(got), "short %d", short)
		require.True(t, report.Clean())
	}
}

// TestFullTmpfs is W02 on a real file system of 4 MiB; where mounting one is not allowed, TestFullDisk stands for it.
func TestFullTmpfs(t *testing.T) {
	t.Parallel()
	smalldisk.Run(t, "4m", fullTmpfs)
}

func fullTmpfs(t *testing.T, dir string) {
	t.Helper()
	opts := wal.Options{Dir: filepath.Join(dir, "wal"), Node: "n1", Epoch: 1, SegmentSize: 1 << 20, RetryInterval: time.Millisecond}
	l, err := wal.Open(opts, wal.Deps{})
	require.NoError(t, err)
	key, payload := testKey(1), []byte(strings.Repeat("r", 50_000))
	var kept uint64
	for err == nil {
		var lsn wal.LSN
		if lsn, err = l.Enqueue(wal.Record{Key: key, Seq: kept + 1, Payload: payload}); err == nil {
			err = l.Wait(context.Background(), lsn)
		}
		if err == nil {
			kept++
		}
	}
	require.ErrorIs(t, err, wal.ErrFull)
	require.Greater(t, kept, uint64(60))
	t.Logf("filled with %d records", kept)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "flush"), make([]byte, 200<<10), 0o600), "the reserve is for flushes")
	require.NoError(t, os.Remove(filepath.Join(dir, "flush")))
	l.Release(key, kept-1)
	room, err := l.Reserve(context.Background(), key, len(payload))
	require.NoError(t, err)
	var lsn wal.LSN
	for { // the log looks at the disk again every millisecond
		if lsn, err = room.Enqueue(wal.Record{Key: key, Seq: kept + 1, Payload: payload}); !errors.Is(err, wal.ErrFull) {
			break
		}
	}
	require.NoError(t, err)
	require.NoError(t, l.Wait(context.Background(), lsn))
	require.NoError(t, l.Close())
	l, err = wal.Open(opts, wal.Deps{})
	require.NoError(t, err)
	got, report := replayAll(t, l)
	require.True(t, report.Clean())
	require.Equal(t, kept+1, got[len(got)-1].Seq)
	require.NoError(t, l.Close())
}
