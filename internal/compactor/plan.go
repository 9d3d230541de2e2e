package compactor

import (
	"cmp"
	"slices"
	"time"

	"github.com/millstream/millstream/internal/catalog"
)

// Rules of merging (decisions B7).
const (
	minSmall     = 8                // small files of a running hour that are worth a merge
	maxSources   = 32               // files of one merge, whose row groups are in memory together
	hourSettle   = 10 * time.Minute // after its end an hour is expected to get few more rows
	daySettle    = 6 * time.Hour    // after its end a day is closed
	monthSettle  = 7 * 24 * time.Hour
	settleStep   = 10 * time.Minute // all moments at which a partition closes are multiples of it
	smallPortion = 4                // a file below 1/4 of the target is small
	giantRatio   = 4                // files together below 1/4 of the largest leave it alone
)

// stage is which merges are meant. Every segment is of one.
type stage uint8

const (
	inOpen   stage = iota // inside an hour, or a day that still gets rows
	inClosed              // of a closed day or month
)

// group is files that become one.
type group struct {
	partition catalog.Partition
	sources   []catalog.Segment // by time
	paths     []string          // of the sources' files, once they are pinned
}

// plan returns the merges of a stage that the segments of one dataset are due for. It is pure: the same segments at the same time give
// the same groups, and no segment is in two of them. Segments of a format that cannot be merged are the caller's to leave out.
func plan(s stage, segments []catalog.Segment, now time.Time, target int64) []group {
	byPartition := make(map[catalog.Partition][]catalog.Segment)
	closed := make(map[catalog.Partition]bool)
	for _, seg := range segments {
		p, done := destination(seg.Partition, now)
		if (s == inClosed) != (done && p.Unit != catalog.Hour) {
			continue
		}
		byPartition[p] = append(byPartition[p], seg)
		closed[p] = done
	}
	var out []group
	for p, list := range byPartition {
		out = append(out, cut(p, list, closed[p], target)...)
	}
	slices.SortFunc(out, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.partition.Start, b.partition.Start), cmp.Compare(a.partition.Unit, b.partition.Unit),
			cmp.Compare(a.sources[0].ID, b.sources[0].ID))
	})
	return out
}

// destination returns the partition that rows of p belong to by now, and whether that one is closed.
func destination(p catalog.Partition, now time.Time) (catalog.Partition, bool) {
	start := time.UnixMicro(p.Start).UTC()
	day := time.Date(start.Year(), start.Month(), start.Day(), 0, 0, 0, 0, time.UTC)
	month := time.Date(start.Year(), start.Month(), 1, 0, 0, 0, 0, time.UTC)
	switch {
	case p.Unit == catalog.Month || !now.Before(month.AddDate(0, 1, 0).Add(monthSettle)):
		return catalog.Partition{Unit: catalog.Month, Start: month.UnixMicro()}, true
	case p.Unit == catalog.Day || !now.Before(day.AddDate(0, 0, 1).Add(daySettle)):
		return catalog.Partition{Unit: catalog.Day, Start: day.UnixMicro()}, !now.Before(day.AddDate(0, 0, 1).Add(daySettle))
	default:
		return p, !now.Before(start.Add(time.Hour + hourSettle))
	}
}

// cut divides the segments of one partition into merges of at most target bytes and maxSources files, in the order of time. Files that
// have the target's size are left alone.
func cut(p catalog.Partition, list []catalog.Segment, closed bool, target int64) []group {
	slices.SortFunc(list, func(a, b catalog.Segment) int {
		return cmp.Or(cmp.Compare(a.MinTime, b.MinTime), cmp.Compare(a.ID, b.ID))
	})
	var out []group
	var open group
	var bytes int64
	closeGroup := func() {
		open.sources = withoutGiant(open.sources)
		if worthwhile(open, closed) {
			out = append(out, open)
		}
		open, bytes = group{partition: p}, 0
	}
	closeGroup()
	for _, s := range list {
		if s.Bytes >= target || !closed && s.Bytes >= target/smallPortion {
			continue
		}
		if bytes+s.Bytes > target || len(open.sources) == maxSources {
			closeGroup()
		}
		open.sources = append(open.sources, s)
		bytes += s.Bytes
	}
	closeGroup()
	return out
}

// withoutGiant leaves out the largest file while the others together are small beside it: else a trickle of late rows would have it
// written again and again. They are merged among themselves until they are worth it.
func withoutGiant(sources []catalog.Segment) []catalog.Segment {
	var total int64
	giant := 0
	for i, s := range sources {
		total += s.Bytes
		if s.Bytes > sources[giant].Bytes {
			giant = i
		}
	}
	if len(sources) < 2 || (total-sources[giant].Bytes)*giantRatio >= sources[giant].Bytes {
		return sources
	}
	return slices.Concat(sources[:giant], sources[giant+1:])
}

// worthwhile reports whether merging the group pays: two files of a closed partition, more of a running one.
func worthwhile(g group, closed bool) bool {
	if closed {
		return len(g.sources) >= 2
	}
	return len(g.sources) >= minSmall
}
