package wal_test

import (
	"context"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/wal"
	"github.com/millstream/millstream/internal/wal/faultfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testDir = "/wal"

func testKey(dataset int64) wal.Key { return wal.Key{Dataset: dataset, Node: "n1", Epoch: 1} }

// openLog opens a log on fs that is closed with the test.
func openLog(t *testing.T, fs wal.FS, change func(*wal.Options, *wal.Deps)) *wal.Log {
	t.Helper()
	opts, deps := wal.Options{Dir: testDir, Node: "n1", Epoch: 1, ReserveSize: -1}, wal.Deps{FS: fs}
	if change != nil {
		change(&opts, &deps)
	}
	l, err := wal.Open(opts, deps)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() }) // closed already by most tests
	return l
}

// put enqueues a record and waits for it.
func put(t *testing.T, l *wal.Log, key wal.Key, seq uint64, payload string) wal.LSN {
	t.Helper()
	lsn, err := l.Enqueue(wal.Record{Key: key, Seq: seq, Payload: []byte(payload)})
	require.NoError(t, err)
	require.NoError(t, l.Wait(context.Background(), lsn))
	return lsn
}

// replayAll returns copies of what l replays.
func replayAll(t *testing.T, l *wal.Log) ([]wal.Record, wal.ReplayReport) {
	t.Helper()
	var got []wal.Record
	report, err := l.Replay(context.Background(), func(r wal.Record) error {
		r.Payload = slices.Clone(r.Payload)
		got = append(got, r)
		return nil
	}, nil)
	require.NoError(t, err)
	return got, report
}

func seqs(records []wal.Record) []uint64 {
	var list []uint64
	for _, r := range records {
		list = append(list, r.Seq)
	}
	return list
}

// segmentFiles returns the paths of the segments in dir.
func segmentFiles(t *testing.T, fs *faultfs.FS, dir string) []string {
	t.Helper()
	entries, err := fs.ReadDir(dir)
	require.NoError(t, err)
	var list []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".wal") {
			list = append(list, path.Join(dir, e.Name()))
		}
	}
	return list
}

// metric returns the value of a counter or gauge, summed over its labels.
func metric(t *testing.T, reg prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	var sum float64
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}
