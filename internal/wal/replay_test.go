package wal_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/wal"
	"github.com/millstream/millstream/internal/wal/faultfs"
)

// TestReplayOtherNodes finds the logs of two nodes in one directory; each comes back under its own key.
func TestReplayOtherNodes(t *testing.T) {
	t.Parallel()
	fs := faultfs.New()
	var want []wal.Record
	for i, node := range []string{"n1", "gone", "n1"} {
		l := openLog(t, fs, func(o *wal.Options, _ *wal.Deps) { o.Node, o.Epoch = node, int64(i+1) })
		_, _ = replayAll(t, l)
		r := wal.Record{Key: wal.Key{Dataset: 4, Node: node, Epoch: int64(i + 1)}, Seq: 1, Payload: []byte(node)}
		put(t, l, r.Key, r.Seq, string(r.Payload))
		want = append(want, r)
		require.NoError(t, l.Close())
	}
	got, _ := replayAll(t, openLog(t, fs, nil))
	require.Equal(t, want, got)
}

// TestReplayEndsAndBeginsAnew stops on the callback's error, a cancelled context and a passing read error, and then replays everything.
func TestReplayEndsAndBeginsAnew(t *testing.T) {
	t.Parallel()
	fs, _ := fiveSegments(t)
	l := openLog(t, fs, nil)
	stop := errors.New("stop")
	n := 0
	_, err := l.Replay(context.Background(), func(wal.Record) error {
		if n++; n == 5 {
			return stop
		}
		return nil
	}, nil)
	require.ErrorIs(t, err, stop)
	ctx, cancel := context.WithCancel(context.Background())
	_, err = l.Replay(ctx, func(wal.Record) error { cancel(); return nil }, nil)
	require.ErrorIs(t, err, context.Canceled)
	remove := fs.Inject(faultfs.Fault{Op: faultfs.OpRead, After: 2, Err: syscall.ENOMEM})
	_, err = l.Replay(context.Background(), func(wal.Record) error { return nil }, nil)
	require.ErrorIs(t, err, syscall.ENOMEM, "out of memory is not damage")
	remove()
	_, err = l.Enqueue(wal.Record{Key: testKey(1), Seq: 9})
	require.ErrorIs(t, err, wal.ErrNotReplayed)
	require.ErrorIs(t, l.MoveAside(context.Background(), testKey(1)), wal.ErrNotReplayed)
	got, report := replayAll(t, l)
	require.Len(t, got, 10)
	require.True(t, report.Clean())
	got, _ = replayAll(t, l)
	require.Empty(t, got, "a second replay has nothing more")
}

// TestUnreadableSector loses the rest of one segment and goes on with the next.
func TestUnreadableSector(t *testing.T) {
	t.Parallel()
	fs, files := fiveSegments(t)
	l := openLog(t, fs, nil)
	fs.Inject(faultfs.Fault{Op: faultfs.OpRead, Glob: files[1][len(testDir)+1:], Err: syscall.EIO})
	got, report := replayAll(t, l)
	require.Len(t, got, 8)
	require.Len(t, report.Damaged, 1)
	require.Contains(t, report.Damaged[0].Cause, "unreadable")
	l.Release(testKey(1), 5)
	l.Release(testKey(2), 5)
	require.Zero(t, l.Stats().Segments)
}

// TestReplayReleasesAsItGoes shows that a caller who flushes inside the callback frees segments before the end, and what progress says.
func TestReplayReleasesAsItGoes(t *testing.T) {
	t.Parallel()
	fs, _ := fiveSegments(t)
	l := openLog(t, fs, nil)
	least := 5
	var last, total int64
	_, err := l.Replay(context.Background(), func(r wal.Record) error {
		l.Release(r.Key, r.Seq)
		least = min(least, l.Stats().Segments)
		return nil
	}, func(done, all int64) {
		require.GreaterOrEqual(t, done, last)
		last, total = done, all
	})
	require.NoError(t, err)
	require.Equal(t, 1, least)
	require.Equal(t, total, last)
	require.Positive(t, total)
	require.Zero(t, l.Stats().Segments)
}

// TestQuarantine sets single records aside, in replay and at other times.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	fs, _ := fiveSegments(t)
	l := openLog(t, fs, nil)
	report, err := l.Replay(context.Background(), func(r wal.Record) error {
		if r.Dataset == 1 && r.Seq == 5 {
			return l.Quarantine(r, errors.New("not an Arrow stream"))
		}
		return nil
	}, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, report.RecordsQuarantined)
	require.False(t, report.Clean())
	l.Release(testKey(1), 4)
	l.Release(testKey(2), 5)
	require.Zero(t, l.Stats().Segments, "the quarantined record holds nothing back")
	data, err := fs.ReadFile(testDir + "/quarantine/record-1-1-5.bin")
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("a", 60), string(data))
	text, err := fs.ReadFile(testDir + "/quarantine/record-1-1-5.txt")
	require.NoError(t, err)
	require.Contains(t, string(text), "not an Arrow stream")
	fs.Inject(faultfs.Fault{Op: faultfs.OpSync, Err: syscall.ENOSPC})
	require.ErrorIs(t, l.Quarantine(wal.Record{Key: testKey(1), Seq: 6}, errors.New("x")), syscall.ENOSPC)
}

// TestDamageStaysWhenItCannotBeCopied keeps the segment as evidence.
func TestDamageStaysWhenItCannotBeCopied(t *testing.T) {
	t.Parallel()
	fs, files := fiveSegments(t)
	require.NoError(t, fs.Damage(files[1], func(b []byte) []byte { b[len(b)-1] ^= 1; return b }))
	l := openLog(t, fs, nil)
	fs.Inject(faultfs.Fault{Op: faultfs.OpMkdir, Err: syscall.ENOSPC})
	got, report := replayAll(t, l)
	require.Len(t, got, 9)
	require.Empty(t, report.Damaged[0].Report)
	l.Release(testKey(1), 5)
	l.Release(testKey(2), 5)
	require.Equal(t, files[1:2], segmentFiles(t, fs, testDir))
}

// TestReplayMemory replays more than a reader may hold at once.
func TestReplayMemory(t *testing.T) {
	t.Parallel()
	fs := faultfs.New()
	l := openLog(t, fs, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{0, 1, 255 << 10, 256 << 10, 257 << 10, 700 << 10, 3}
	for i, n := range sizes {
		p := make([]byte, n)
		for j := range p {
			p[j] = byte(rng.Uint32())
		}
		put(t, l, testKey(1), uint64(i+1), string(p))
	}
	require.NoError(t, l.Close())
	got, _ := replayAll(t, openLog(t, fs, nil))
	require.Len(t, got, len(sizes))
	for i, r := range got {
		require.Len(t, r.Payload, sizes[i])
	}
}

// FuzzSegment replays arbitrary bytes behind a good header: never a panic, never an error, and no record that was not written.
func FuzzSegment(f *testing.F) {
	fs := faultfs.New()
	l, err := wal.Open(wal.Options{Dir: testDir, Node: "n1"}, wal.Deps{FS: fs})
	if err != nil {
		f.Fatal(err)
	}
	for seq := range uint64(3) {
		if _, err := l.Enqueue(wal.Record{Key: testKey(1), Seq: seq + 1, Payload: []byte("payload")}); err != nil {
			f.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		f.Fatal(err)
	}
	entries, err := fs.ReadDir(testDir)
	if err != nil {
		f.Fatal(err)
	}
	name := testDir + "/" + entries[0].Name()
	good, err := fs.ReadFile(name)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), uint16(10), []byte{1})
	f.Add(uint16(90), uint16(4), []byte{0xff, 0xff, 0xff, 0x7f})
	f.Add(uint16(200), uint16(100), binary.LittleEndian.AppendUint64(nil, 1<<60))
	f.Fuzz(func(t *testing.T, at, cut uint16, insert []byte) {
		from := min(int(at), len(good))
		to := min(from+int(cut), len(good))
		disk := fs.Clone()
		require.NoError(t, disk.Damage(name, func([]byte) []byte { return bytes.Join([][]byte{good[:from], insert, good[to:]}, nil) }))
		got, _ := replayAll(t, openLog(t, disk, nil))
		for _, r := range got {
			require.Equal(t, testKey(1), r.Key)
			require.Equal(t, "payload", string(r.Payload))
		}
		require.IsNonDecreasing(t, seqs(got))
	})
}
