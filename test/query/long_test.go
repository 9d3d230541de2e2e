//go:build long

package query_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/compactor"
	"github.com/millstream/millstream/internal/signal"
)

// TestTenThousandFlushes writes the same rows to two streams: one is flushed every minute for a week, the other once. After the upkeep of
// the first both have as many files as decisions B7 expects, and the same questions have the same answers in about the same time.
func TestTenThousandFlushes(t *testing.T) {
	const flushes, rows = 10_000, 5
	s := newStore(t, storeOptions{groupRows: 8192})
	tiny, whole := logs("acme", "tiny"), logs("acme", "whole")
	first := now.Add(-flushes * time.Minute)
	var all []row
	for i := range flushes {
		batch := make([]row, rows)
		for j := range batch {
			n := i*rows + j
			batch[j] = row{
				"_timestamp": first.Add(time.Duration(i)*time.Minute + time.Duration(j)*time.Second), "n": n, "host": fmt.Sprint("host-", n%17),
				"message": fmt.Sprintf("user u%d looked at shelf %d", n, n%1000),
			}
		}
		s.Write(tiny, batch...)
		s.Flush()
		all = append(all, batch...)
	}
	before := s.timed(t, tiny)
	files := s.objects(t)
	c := s.compactor()
	began, rounds := time.Now(), 0
	for live := -1; live != len(s.live(tiny)); rounds++ {
		live = len(s.live(tiny))
		require.NoError(t, c.Compact(t.Context()))
		require.NoError(t, c.Seal(t.Context()))
	}
	took := time.Since(began)
	s.clock.Advance(compactor.DefaultDeletionGrace + time.Second)
	require.NoError(t, c.Delete(t.Context()))
	live := s.live(tiny)
	t.Logf("%d files of %d flushes became %d in %d rounds, %s", files, flushes, len(live), rounds, took.Round(time.Millisecond))
	hours, days := 0, map[int64]int{}
	for _, x := range live {
		if x.Partition.Start >= now.Add(-30*time.Hour).UnixMicro() && x.MaxTime-x.MinTime < time.Hour.Microseconds() {
			hours++
			continue
		}
		days[x.Partition.Start]++
	}
	for day, n := range days {
		require.LessOrEqual(t, n, 2, time.UnixMicro(day).UTC())
	}
	require.LessOrEqual(t, len(days), 8)
	require.LessOrEqual(t, hours, 13+8, "one an hour of a day that is not closed, and the small ones of the running hour")
	require.Equal(t, 2*len(live), s.objects(t)+s.inMemory(tiny), "data and index of each segment and nothing else")
	retired, err := s.catalog.Retired(t.Context(), s.clock.Now(), 1)
	require.NoError(t, err)
	require.Empty(t, retired)

	s.Write(whole, all...)
	s.Flush()
	after, once := s.timed(t, tiny), s.timed(t, whole)
	for i := range after {
		require.Equal(t, once[i].rows, after[i].rows)
		require.Equal(t, once[i].rows, before[i].rows)
		t.Logf("%-70s %8s before, %8s after, %8s of one load", tinyQuestions[i], before[i].took, after[i].took, once[i].took)
	}
}

var tinyQuestions = []string{
	"SELECT count(*), sum(n) FROM %s",
	"SELECT host, count(*) FROM %s GROUP BY host ORDER BY host",
	"SELECT n FROM %s WHERE match(message, 'u4242')",
	"SELECT n FROM %s ORDER BY _timestamp DESC LIMIT 10",
}

type timing struct {
	rows []string
	took time.Duration
}

// timed asks all questions of a stream, each three times, and keeps the least time.
func (s *store) timed(t *testing.T, of signal.Stream) []timing {
	t.Helper()
	out := make([]timing, len(tinyQuestions))
	for i, q := range tinyQuestions {
		for range 3 {
			began := time.Now()
			out[i].rows = s.ask(of.Org, fmt.Sprintf(q, of.Name)).rows
			if took := time.Since(began).Round(100 * time.Microsecond); out[i].took == 0 || took < out[i].took {
				out[i].took = took
			}
		}
	}
	return out
}

// objects counts the files below the store's folder of objects.
func (s *store) objects(t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(filepath.Join(s.dir, "objects"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	}))
	return n
}

// inMemory counts the index objects of live segments that the store keeps in memory: those of flushes.
func (s *store) inMemory(of signal.Stream) (n int) {
	for _, x := range s.live(of) {
		if _, ok := s.indexes[x.ID]; ok {
			n++
		}
	}
	return n
}
