package wal_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/wal"
	"github.com/millstream/millstream/internal/wal/faultfs"
)

func smallSegments(o *wal.Options, _ *wal.Deps) { o.SegmentSize = 300 }

// TestReleaseDeletesInAnyOrder keeps what one key blocks and deletes the rest.
func TestReleaseDeletesInAnyOrder(t *testing.T) {
	t.Parallel()
	fs := faultfs.New()
	l := openLog(t, fs, smallSegments)
	put(t, l, testKey(9), 1, strings.Repeat("z", 200))
	for seq := range uint64(6) {
		put(t, l, testKey(1), seq+1, strings.Repeat("a", 200))
	}
	require.Equal(t, 7, l.Stats().Segments)
	l.Release(testKey(1), 5)
	require.Len(t, segmentFiles(t, fs, testDir), 2, "the first is blocked, the last is live")
	l.Release(testKey(1), 4) // older news change nothing
	l.Release(testKey(7), 4)
	l.Release(testKey(9), 1)
	require.Len(t, segmentFiles(t, fs, testDir), 1)
	require.NoError(t, l.Close())
	got, _ := replayAll(t, openLog(t, fs, nil))
	require.Equal(t, []uint64{6}, seqs(got))
}

// TestRemoveIsTriedAgain keeps a file that resists until a later Release.
func TestRemoveIsTriedAgain(t *testing.T) {
	t.Parallel()
	fs := faultfs.New()
	l := openLog(t, fs, smallSegments)
	for seq := range uint64(4) {
		put(t, l, testKey(1), seq+1, strings.Repeat("a", 200))
	}
	fs.Inject(faultfs.Fault{Op: faultfs.OpRemove, Times: 1, Err: syscall.EIO})
	l.Release(testKey(1), 2)
	require.Len(t, segmentFiles(t, fs, testDir), 3)
	l.Release(testKey(1), 3)
	require.Len(t, segmentFiles(t, fs, testDir), 1)
}

func TestStatsNameBlockingKeys(t *testing.T) {
	t.Parallel()
	now := clock.NewFake(time.Unix(1_000_000, 0))
	l := openLog(t, faultfs.New(), func(o *wal.Options, d *wal.Deps) { o.SegmentSize, d.Clock = 1000, now })
	for seq := range uint64(10) {
		put(t, l, testKey(1), seq+1, strings.Repeat("a", 100))
		put(t, l, testKey(2), seq+1, strings.Repeat("b", 100))
		now.Advance(time.Minute)
	}
	l.Release(testKey(1), 9)
	l.Release(testKey(2), 3)
	st := l.Stats()
	require.Len(t, st.Blocking, 2)
	require.Equal(t, testKey(2), st.Blocking[0].Key)
	require.Equal(t, 7*time.Minute, st.Blocking[0].Age)
	require.Equal(t, time.Minute, st.Blocking[1].Age)
	require.GreaterOrEqual(t, st.Blocking[0].Bytes, int64(14*158))
	require.Equal(t, int64(2*158), st.Blocking[1].Bytes)
	require.Equal(t, uint64(20), st.Records)
}

// TestMoveAside frees the segments that one key blocks; its records come back, once and in order, also when the copy and the originals
// both survive.
func TestMoveAside(t *testing.T) {
	t.Parallel()
	fs := faultfs.New()
	l := openLog(t, fs, smallSegments)
	hostage := testKey(9)
	for seq := range uint64(6) {
		put(t, l, hostage, seq+1, "hostage")
		put(t, l, testKey(1), seq+1, strings.Repeat("a", 200))
	}
	l.Release(testKey(1), 6)
	l.Release(hostage, 1)
	require.GreaterOrEqual(t, l.Stats().Segments, 5)
	before := fs.Clone()
	require.NoError(t, l.MoveAside(context.Background(), hostage))
	require.NoError(t, l.MoveAside(context.Background(), hostage), "nothing is left to move")
	require.NoError(t, l.MoveAside(context.Background(), testKey(5)))
	st := l.Stats()
	require.LessOrEqual(t, st.Segments, 1)
	require.Equal(t, 1, st.AsideSegments)
	require.Empty(t, st.Blocking)
	put(t, l, hostage, 7, "later")

	both := before // as if the power had gone before the originals were deleted
	copyFiles(t, fs, both, testDir+"/aside/9/1")
	got, report := replayAll(t, openLog(t, both, nil))
	require.Equal(t, []uint64{2, 3, 4, 5, 6}, forKey(got, hostage))
	require.EqualValues(t, 5, report.Duplicates)
	require.NoError(t, l.Close())

	l = openLog(t, fs, nil)
	got, report = replayAll(t, l)
	require.Equal(t, []uint64{2, 3, 4, 5, 6, 7}, forKey(got, hostage))
	require.Equal(t, 1, report.AsideSegments)
	l.Release(hostage, 6)
	require.Zero(t, l.Stats().AsideSegments)
	entries, err := fs.ReadDir(testDir + "/aside")
	require.NoError(t, err)
	require.Empty(t, entries, "empty directories go, too")
}

func forKey(records []wal.Record, key wal.Key) []uint64 {
	var list []uint64
	for _, r := range records {
		if r.Key == key {
			list = append(list, r.Seq)
		}
	}
	return list
}

func copyFiles(t *testing.T, from, to *faultfs.FS, dir string) {
	t.Helper()
	require.NoError(t, to.MkdirAll(dir))
	for _, name := range segmentFiles(t, from, dir) {
		data, err := from.ReadFile(name)
		require.NoError(t, err)
		f, err := to.Create(name)
		require.NoError(t, err)
		_, err = f.WriteAt(data, 0)
		require.NoError(t, err)
	}
}

// TestMoveAsideFails leaves everything as it was.
func TestMoveAsideFails(t *testing.T) {
	t.Parallel()
	for _, op := range []faultfs.Op{
		faultfs.OpMkdir, faultfs.OpCreate, faultfs.OpWrite, faultfs.OpSync, faultfs.OpRename, faultfs.OpSyncDir, faultfs.OpOpen, faultfs.OpRead,
	} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			fs := faultfs.New()
			l := openLog(t, fs, nil)
			put(t, l, testKey(1), 1, "x")
			fs.Inject(faultfs.Fault{Op: op, Err: syscall.ENOMEM})
			require.ErrorIs(t, l.MoveAside(context.Background(), testKey(1)), syscall.ENOMEM)
			fs.Heal()
			require.Zero(t, l.Stats().AsideSegments)
			require.Len(t, l.Stats().Blocking, 1)
			require.NoError(t, l.Close())
			got, _ := replayAll(t, openLog(t, fs, nil))
			require.Len(t, got, 1)
		})
	}
}

func TestMoveAsideObeysContext(t *testing.T) {
	t.Parallel()
	l := openLog(t, faultfs.New(), nil)
	put(t, l, testKey(1), 1, "x")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, l.MoveAside(ctx, testKey(1)), context.Canceled)
}

// TestConcurrency has many writers, a releaser and a mover at work; what is acknowledged and unreleased replays in order.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	fs := faultfs.New()
	l := openLog(t, fs, func(o *wal.Options, _ *wal.Deps) {
		o.SegmentSize, o.GroupMaxBytes, o.BatchMaxDelay, o.MaxPendingBytes = 4<<10, 1<<10, 100*time.Microsecond, 8<<10
	})
	const writers, records = 8, 60
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			key := testKey(int64(w))
			for seq := range uint64(records) {
				room, err := l.Reserve(context.Background(), key, 100)
				if err != nil {
					panic(err)
				}
				lsn, err := room.Enqueue(wal.Record{Key: key, Seq: seq + 1, Payload: make([]byte, 100)})
				room.Release()
				if err = errors.Join(err, l.Wait(context.Background(), lsn)); err != nil {
					panic(err)
				}
				if seq%7 == 6 && w%2 == 0 {
					l.Release(key, seq)
				}
				if seq%20 == 19 && w%2 == 1 {
					if err := l.MoveAside(context.Background(), key); err != nil {
						panic(err)
					}
				}
				_ = l.Stats()
			}
		})
	}
	wg.Wait()
	require.NoError(t, l.Close())
	got, report := replayAll(t, openLog(t, fs, nil))
	require.True(t, report.Clean())
	for w := range writers {
		var first uint64 = 1
		if w%2 == 0 {
			first = 56 // what is released may be there or not, with holes
		}
		list := slices.DeleteFunc(forKey(got, testKey(int64(w))), func(seq uint64) bool { return seq < first })
		require.Len(t, list, int(records+1-first))
		require.IsIncreasing(t, list)
	}
}
