package compactor

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/catalog"
)

// ledger is the live segments of a dataset as far as sizes and times go, merged by plan alone.
type ledger struct {
	live   []catalog.Segment
	next   catalog.SegmentID
	most   int   // live segments at once
	merged int64 // bytes that merges have written
	target int64
}

func (l *ledger) add(p catalog.Partition, at time.Time, bytes int64) {
	l.next++
	l.live = append(l.live, catalog.Segment{
		ID: l.next, Partition: p, Bytes: bytes, Rows: 1, MinTime: at.UnixMicro(), MaxTime: at.UnixMicro(),
	})
	l.most = max(l.most, len(l.live))
}

// round does the merges of both stages once, as a round of the role does.
func (l *ledger) round(now time.Time) {
	for _, s := range []stage{inOpen, inClosed} {
		for _, g := range plan(s, l.live, now, l.target) {
			var bytes int64
			gone := make(map[catalog.SegmentID]bool, len(g.sources))
			for _, s := range g.sources {
				bytes += s.Bytes
				gone[s.ID] = true
			}
			l.live = slices.DeleteFunc(l.live, func(s catalog.Segment) bool { return gone[s.ID] })
			l.add(g.partition, time.UnixMicro(g.sources[0].MinTime), bytes)
			l.merged += bytes
		}
	}
}

func (l *ledger) bytes() (sum int64) {
	for _, s := range l.live {
		sum += s.Bytes
	}
	return sum
}

// days counts live segments by the day that they begin in.
func (l *ledger) days() map[time.Time]int {
	out := make(map[time.Time]int)
	for _, s := range l.live {
		out[time.UnixMicro(s.Partition.Start).UTC().Truncate(24*time.Hour)]++
	}
	return out
}

// TestAMonthOfMinuteFlushes measures the bound on catalog rows of decisions B7, which is why there are no manifests beside them
// (docs/adr/0010): a stream that is flushed every minute has few live segments at any moment, however long it runs.
func TestAMonthOfMinuteFlushes(t *testing.T) {
	t.Parallel()
	for name, bytes := range map[string]int64{"a quiet stream": 4 << 10, "a stream of 1.4 GiB a day": mib} {
		l := &ledger{target: 256 * mib}
		start := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
		end := start.AddDate(0, 1, 0)
		var flushes int64
		for now := start; now.Before(end); now = now.Add(time.Minute) {
			l.add(hourOf(now), now, bytes)
			if flushes++; flushes%5 == 0 { // a round takes longer at times
				l.round(now)
			}
		}
		require.Equal(t, flushes*bytes, l.bytes())
		large := int(l.bytes() / l.target)
		t.Logf("%s: %d flushes, at most %d live rows, %d at the end, %d of target size, each byte merged %.1f times",
			name, flushes, l.most, len(l.live), large, float64(l.merged)/float64(l.bytes()))
		// The small files of an hour, those of 31 hours, 2 a day that waits for its month, and the large ones with their rests.
		require.Less(t, l.most, 2*minSmall+2*31+2*38+2*large)

		for now := end; now.Before(end.AddDate(0, 0, 9)); now = now.Add(10 * time.Minute) {
			l.round(now)
		}
		require.LessOrEqual(t, len(l.live), 2+2*large, "a closed month")
	}
}

// TestATrickleOfManyDays is case K07 of the public reports: each of 200 flushes of a stream brings a row for each of 30 past days, as the
// flush lays them out, and in the end a day has few files.
func TestATrickleOfManyDays(t *testing.T) {
	t.Parallel()
	l := &ledger{target: 256 * mib}
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for range 200 {
		for back := range 31 {
			at := now.AddDate(0, 0, -back)
			p := hourOf(at)
			if back >= 4 { // decisions B7: at most 4 hour files a flush
				p = catalog.Partition{Unit: catalog.Day, Start: at.Truncate(24 * time.Hour).UnixMicro()}
			}
			l.add(p, at, 2<<10)
		}
		now = now.Add(time.Minute)
		l.round(now)
	}
	for range 5 {
		l.round(now)
	}
	for day, files := range l.days() {
		if day.Equal(now.Truncate(24 * time.Hour)) {
			require.LessOrEqual(t, files, 2*minSmall, "hours of today")
			continue
		}
		require.Less(t, files, 10, day)
	}
	t.Logf("at most %d live rows, %d at the end", l.most, len(l.live))
	for now = now.Add(30 * time.Hour); len(l.live) > 2*32; {
		before := len(l.live)
		l.round(now)
		require.Less(t, len(l.live), before)
	}
}
