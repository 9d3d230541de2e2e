package compactor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/catalog"
)

func hourOf(t time.Time) catalog.Partition {
	return catalog.Partition{Unit: catalog.Hour, Start: t.Truncate(time.Hour).UnixMicro()}
}

func segmentAt(id int, at time.Time, bytes int64) catalog.Segment {
	return catalog.Segment{
		ID: catalog.SegmentID(id), Bytes: bytes, Rows: 1, MinTime: at.UnixMicro(), MaxTime: at.UnixMicro(), Partition: hourOf(at),
	}
}

const mib = 1 << 20

// planned is what both stages do.
func planned(list []catalog.Segment, now time.Time, target int64) []group {
	return append(plan(inOpen, list, now, target), plan(inClosed, list, now, target)...)
}

func TestPlanWaitsForEnoughSmallFilesInARunningHour(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 30, 0, 0, time.UTC)
	var list []catalog.Segment
	for i := range minSmall - 1 {
		list = append(list, segmentAt(i, now, mib))
	}
	require.Empty(t, planned(list, now, 256*mib))
	list = append(list, segmentAt(99, now, mib))
	groups := planned(list, now, 256*mib)
	require.Len(t, groups, 1)
	require.Len(t, groups[0].sources, minSmall)
	require.Equal(t, hourOf(now), groups[0].partition)
}

func TestPlanMergesHoursOfAClosedDay(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	var list []catalog.Segment
	for h := range 24 {
		list = append(list, segmentAt(h, day.Add(time.Duration(h)*time.Hour), mib))
	}
	require.Empty(t, planned(list, day.Add(26*time.Hour), 256*mib), "single files of closed hours wait for their day")
	groups := planned(list, day.Add(31*time.Hour), 256*mib)
	require.Len(t, groups, 1)
	require.Len(t, groups[0].sources, 24)
	require.Equal(t, catalog.Partition{Unit: catalog.Day, Start: day.UnixMicro()}, groups[0].partition)
	groups = planned(list, day.AddDate(0, 1, 0), 256*mib)
	require.Equal(t, catalog.Month, groups[0].partition.Unit)
}

func TestPlanLeavesAGiantAlone(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	list := []catalog.Segment{segmentAt(1, day, 100*mib), segmentAt(2, day, mib)}
	now := day.Add(31 * time.Hour)
	require.Empty(t, planned(list, now, 256*mib))
	list = append(list, segmentAt(3, day, mib))
	groups := planned(list, now, 256*mib)
	require.Len(t, groups, 1)
	require.Len(t, groups[0].sources, 2)
	list = append(list, segmentAt(4, day, 30*mib))
	require.Len(t, planned(list, now, 256*mib)[0].sources, 4)
}

// TestPlanEnds merges random files, as far as sizes go, until nothing is due: no file is in two merges, bounds hold, and a closed day ends
// with few files.
func TestPlanEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
		now := day.Add(time.Duration(rapid.IntRange(0, 24*60).Draw(t, "hours")) * time.Hour)
		const target = 64 * mib
		var list []catalog.Segment
		for i := range rapid.IntRange(0, 200).Draw(t, "files") {
			at := day.Add(time.Duration(rapid.IntRange(0, 47).Draw(t, "hour")) * time.Hour)
			list = append(list, segmentAt(i, at, int64(rapid.IntRange(1, 80*mib).Draw(t, "bytes"))))
		}
		next := len(list)
		for round := 0; ; round++ {
			require.Less(t, round, 100)
			groups := planned(list, now, target)
			if len(groups) == 0 {
				break
			}
			gone := make(map[catalog.SegmentID]bool)
			for _, g := range groups {
				merged := catalog.Segment{ID: catalog.SegmentID(next), Partition: g.partition, MinTime: g.sources[0].MinTime}
				next++
				require.LessOrEqual(t, len(g.sources), maxSources)
				for _, s := range g.sources {
					require.False(t, gone[s.ID])
					gone[s.ID] = true
					merged.Bytes += s.Bytes
				}
				require.LessOrEqual(t, merged.Bytes, int64(target))
				list = append(list, merged)
			}
			kept := list[:0:0]
			for _, s := range list {
				if !gone[s.ID] {
					kept = append(kept, s)
				}
			}
			list = kept
		}
	})
}
