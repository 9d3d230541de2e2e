package querier

import (
	"cmp"
	"slices"

	"github.com/millstream/millstream/internal/catalog"
)

// prunedByOrder is the reason of segments that lie behind the rows that a statement asks for.
const prunedByOrder = "order"

// cutToTopN leaves out segments that cannot hold one of the first rows in the order of time: enough rows of others come before all of
// theirs. Only segments whose rows all count vouch for others; metrics datasets hold rows of other streams and never do.
func (t *table) cutToTopN(pruned map[string]int64) {
	n := t.TopN
	if n == nil || n.Filtered || t.stream.isMetric() {
		return
	}
	last := func(s *catalog.Segment) int64 { return -s.MinTime } // in the order asked for: no row of s comes later
	first := func(s *catalog.Segment) int64 { return -s.MaxTime }
	if !n.Descending {
		last = func(s *catalog.Segment) int64 { return s.MaxTime }
		first = func(s *catalog.Segment) int64 { return s.MinTime }
	}
	sorted := slices.Clone(t.segments)
	slices.SortFunc(sorted, func(a, b catalog.Segment) int { return cmp.Compare(last(&a), last(&b)) })
	rows := int64(0)
	for i := range sorted {
		if s := &sorted[i]; s.MinTime >= t.time.Start && s.MaxTime < t.time.End {
			rows += s.Rows
		}
		if rows < n.Rows {
			continue
		}
		bound := last(&sorted[i])
		t.segments = slices.DeleteFunc(t.segments, func(s catalog.Segment) bool {
			behind := first(&s) > bound
			if behind {
				pruned[prunedByOrder]++
			}
			return behind
		})
		return
	}
}
