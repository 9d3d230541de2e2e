package wal_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/wal"
	"github.com/millstream/millstream/internal/wal/faultfs"
)

// written returns a file system with n records of key 1 in one segment, closed.
func written(t *testing.T, n int) (*faultfs.FS, string) {
	t.Helper()
	fs := faultfs.New()
	l := openLog(t, fs, nil)
	for i := range n {
		put(t, l, testKey(1), uint64(i+1), fmt.Sprintf("payload %d", i+1))
	}
	require.NoError(t, l.Close())
	files := segmentFiles(t, fs, testDir)
	require.Len(t, files, 1)
	return fs, files[0]
}

// TestTornTail is case W01: whatever is cut off the last segment, the records before the tear are there, writes go to a fresh
// segment, and the next start is clean.
func TestTornTail(t *testing.T) {
	t.Parallel()
	base, name := written(t, 3)
	data, err := base.ReadFile(name)
	require.NoError(t, err)
	size := len("payload 1") + 56 + len("n1")
	for cut := 1; cut <= len(data); cut++ {
		fs := base.Clone()
		require.NoError(t, fs.Damage(name, func(b []byte) []byte { return b[:len(b)-cut] }))
		whole := max(0, 3-(cut+size-1)/size)
		checkTorn(t, fs, name, whole, fmt.Sprintf("cut %d", cut))
	}
	for n := 1; n <= 100; n++ {
		fs := base.Clone()
		rng := rand.NewChaCha8([32]byte{byte(n)})
		junk := make([]byte, n)
		_, _ = rng.Read(junk)
		require.NoError(t, fs.Damage(name, func(b []byte) []byte { return append(b, junk...) }))
		checkTorn(t, fs, name, 3, fmt.Sprintf("junk %d", n))
	}
}

func checkTorn(t *testing.T, fs *faultfs.FS, name string, whole int, what string) {
	t.Helper()
	reg := prometheus.NewRegistry()
	l := openLog(t, fs, func(_ *wal.Options, d *wal.Deps) { d.Registerer = reg })
	got, report := replayAll(t, l)
	require.Len(t, got, whole, what)
	require.True(t, report.Clean(), what)
	require.InDelta(t, len(report.Torn), metric(t, reg, "millstream_wal_torn_total"), 0, what)
	for _, d := range report.Torn {
		require.Equal(t, name, d.Segment)
		require.Positive(t, d.Bytes)
	}
	key := wal.Key{Dataset: 1, Node: "n1", Epoch: 2}
	put(t, l, key, 1, "new")
	files := segmentFiles(t, fs, testDir)
	require.NotEqual(t, name, files[len(files)-1], what)
	require.NoError(t, l.Close())

	l = openLog(t, fs, nil)
	got, report = replayAll(t, l)
	require.Len(t, got, whole+1, what)
	require.True(t, report.Clean(), what)
	require.Empty(t, report.Torn, what)
	require.NoError(t, l.Close())
}

// TestZeroLengthSegment is the other half of W01: a power cut leaves an empty last file.
func TestZeroLengthSegment(t *testing.T) {
	t.Parallel()
	fs, _ := written(t, 2)
	f, err := fs.Create(testDir + "/0000000000000009.0123456789abcdef.wal")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	l := openLog(t, fs, nil)
	got, report := replayAll(t, l)
	require.Len(t, got, 2)
	require.True(t, report.Clean())
	require.Empty(t, report.Torn)
	put(t, l, wal.Key{Dataset: 1, Node: "n1", Epoch: 2}, 1, "new")
	files := segmentFiles(t, fs, testDir)
	require.Len(t, files, 2, "the empty file is gone")
	require.Contains(t, files[1], "000000000000000a.")
}

// fiveSegments returns a file system with two records in each of five segments, keys 1 and 2.
func fiveSegments(t *testing.T) (*faultfs.FS, []string) {
	t.Helper()
	fs := faultfs.New()
	l := openLog(t, fs, func(o *wal.Options, _ *wal.Deps) { o.SegmentSize = 300 })
	for i := range 5 {
		put(t, l, testKey(1), uint64(i+1), strings.Repeat("a", 60))
		put(t, l, testKey(2), uint64(i+1), strings.Repeat("b", 20))
	}
	require.NoError(t, l.Close())
	files := segmentFiles(t, fs, testDir)
	require.Len(t, files, 5)
	return fs, files
}

// TestFlippedByte is case W04: at whatever place of an old segment a byte is flipped, at most one record is lost, the damage is
// reported and set aside, later segments replay, and truncation goes on.
func TestFlippedByte(t *testing.T) {
	t.Parallel()
	base, files := fiveSegments(t)
	data, err := base.ReadFile(files[1])
	require.NoError(t, err)
	for at := range data {
		fs := base.Clone()
		require.NoError(t, fs.Damage(files[1], func(b []byte) []byte { b[at] ^= 0x10; return b }))
		reg := prometheus.NewRegistry()
		l := openLog(t, fs, func(_ *wal.Options, d *wal.Deps) { d.Registerer = reg })
		got, report := replayAll(t, l)
		require.GreaterOrEqual(t, len(got), 9, "flip at %d", at)
		require.Len(t, report.Damaged, 1, "flip at %d", at)
		d := report.Damaged[0]
		require.True(t, d.Offset <= int64(at) && int64(at) < d.Offset+d.Bytes, "flip at %d, reported %d+%d", at, d.Offset, d.Bytes)
		require.Equal(t, 10-len(got), int(d.BeforeLSN-d.AfterLSN-1), "flip at %d: the LSNs tell how many records are lost", at)
		require.InDelta(t, 1, metric(t, reg, "millstream_wal_quarantined_records_total"), 0)
		evidence, err := fs.ReadFile(strings.TrimSuffix(d.Report, ".txt") + ".bin")
		require.NoError(t, err)
		require.Len(t, evidence, int(d.Bytes))
		text, err := fs.ReadFile(d.Report)
		require.NoError(t, err)
		require.Contains(t, string(text), path.Base(files[1]))
		if d.Known {
			require.Contains(t, string(text), fmt.Sprintf("dataset:     %d\n", d.Key.Dataset))
		}
		l.Release(testKey(1), 5)
		l.Release(testKey(2), 5)
		require.Zero(t, l.Stats().Segments, "flip at %d", at)
		require.NoError(t, l.Close())
	}
}

// TestDamageIsReportedOnce keeps the damaged segment over a restart.
func TestDamageIsReportedOnce(t *testing.T) {
	t.Parallel()
	fs, files := fiveSegments(t)
	require.NoError(t, fs.Damage(files[1], func(b []byte) []byte { b[len(b)-1] ^= 1; return b }))
	for start := range 2 {
		reg := prometheus.NewRegistry()
		l := openLog(t, fs, func(_ *wal.Options, d *wal.Deps) { d.Registerer = reg })
		got, report := replayAll(t, l)
		require.Len(t, got, 9)
		require.Len(t, report.Damaged, 1)
		require.Equal(t, start == 1, report.Damaged[0].Again)
		require.Equal(t, testKey(2), report.Damaged[0].Key)
		require.Equal(t, uint64(2), report.Damaged[0].Seq)
		require.InDelta(t, 1-start, metric(t, reg, "millstream_wal_quarantined_records_total"), 0)
		require.NoError(t, l.Close())
	}
}

// TestMissingEnd shortens an old segment.
func TestMissingEnd(t *testing.T) {
	t.Parallel()
	fs, files := fiveSegments(t)
	require.NoError(t, fs.Damage(files[2], func(b []byte) []byte { return b[:len(b)-30] }))
	l := openLog(t, fs, nil)
	got, report := replayAll(t, l)
	require.Len(t, got, 9)
	require.False(t, report.Clean())
	require.Len(t, report.Missing, 1)
	require.Equal(t, int64(30), report.Missing[0].Bytes)
}

// TestPayloadCannotForgeRecords puts whole records of a log into a payload and damages the record around them.
func TestPayloadCannotForgeRecords(t *testing.T) {
	t.Parallel()
	donor, name := written(t, 3)
	forged, err := donor.ReadFile(name)
	require.NoError(t, err)
	fs := faultfs.New()
	l := openLog(t, fs, nil)
	put(t, l, testKey(1), 1, string(forged))
	put(t, l, testKey(1), 2, "good")
	require.NoError(t, l.Close())
	require.NoError(t, fs.Damage(segmentFiles(t, fs, testDir)[0], func(b []byte) []byte { b[100] ^= 1; return b }))
	l = openLog(t, fs, nil)
	got, report := replayAll(t, l)
	require.Equal(t, []uint64{2}, seqs(got))
	require.Len(t, report.Damaged, 1)
}

// TestNewerFormatIsNotDamage refuses to start on a segment of a later version instead of setting it aside.
func TestNewerFormatIsNotDamage(t *testing.T) {
	t.Parallel()
	fs := faultfs.New()
	require.NoError(t, fs.MkdirAll(testDir))
	f, err := fs.Create(testDir + "/0000000000000001.0123456789abcdef.wal")
	require.NoError(t, err)
	_, err = f.WriteAt(wal.HeaderOfVersion(2, 1, 0x0123456789abcdef), 0)
	require.NoError(t, err)
	_, err = wal.Open(wal.Options{Dir: testDir, Node: "n1"}, wal.Deps{FS: fs})
	require.ErrorContains(t, err, "version 2")
}
