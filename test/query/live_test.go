package query_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/compactor"
)

// TestCountsWhileRowsMove is case K08 of the public reports. It asks while rows are written, committed, dropped from the buffers and merged
// with others: every answer has all rows that were
// acknowledged before the question, none twice and none from after its end.
func TestCountsWhileRowsMove(t *testing.T) {
	t.Parallel()
	s := newStore(t, storeOptions{})
	web := logs("acme", "web")
	var begun, acknowledged atomic.Int64
	begun.Add(3)
	s.Write(web, row{"n": 0}, row{"n": 1}, row{"n": 2})
	acknowledged.Add(3)
	done := make(chan struct{})
	var g errgroup.Group
	for range 2 {
		g.Go(func() error {
			for {
				select {
				case <-done:
					return nil
				default:
				}
				before := acknowledged.Load()
				a, err := s.try(s.t.Context(), request("SELECT count(*), count(DISTINCT n) FROM web"))
				if err != nil {
					return err
				}
				after := begun.Load()
				var rows, distinct int64
				if _, err := fmt.Sscanf(a.rows[0], "%d|%d", &rows, &distinct); err != nil {
					return err
				}
				if rows < before || rows > after || distinct != rows {
					return fmt.Errorf("%d rows, %d distinct, with %d acknowledged before and %d begun after", rows, distinct, before, after)
				}
			}
		})
	}
	merging, compact := make(chan struct{}), s.compactor()
	g.Go(func() error {
		for range merging {
			if err := compact.Compact(s.t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	n := 3
	for i := range 40 {
		begun.Add(2)
		s.Write(web, row{"n": n}, row{"n": n + 1})
		acknowledged.Add(2)
		n += 2
		switch i % 4 {
		case 1:
			s.commit()
		case 3:
			s.Flush()
			merging <- struct{}{}
		}
	}
	close(merging)
	close(done)
	require.NoError(t, g.Wait())
	segments := s.live(web)
	require.Less(t, len(segments), 20, "there were 20 flushes")
	require.True(t, slices.ContainsFunc(segments, func(s catalog.Segment) bool { return s.Level > 0 }), "some were merged")
	require.Equal(t, []string{strconv.Itoa(n)}, s.ask("acme", "SELECT count(*) FROM web").rows)
	s.clock.Advance(compactor.DefaultDeletionGrace + time.Second)
	require.NoError(t, compact.Delete(t.Context()))
	require.Equal(t, []string{strconv.Itoa(n)}, s.ask("acme", "SELECT count(*) FROM web").rows, "the sources are gone")
}
