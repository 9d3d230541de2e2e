package querier

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/searchindex"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
)

const prunedByIndex = "index"

// maxBlocks bounds the list of row groups that a scan is told; above it the file is read whole.
const maxBlocks = 4096

// Indexes opens the search index of a segment.
type Indexes interface {
	// OpenIndex returns the index of a segment whose IndexKey is set. An error means that the segment is read whole.
	OpenIndex(ctx context.Context, s catalog.Segment) (*searchindex.Index, error)
}

// pruneByIndex asks the search index of each segment for the row groups that can hold the words that the statement requires. A
// segment without any is left out; one with some is restricted to them. A missing, stale or damaged index costs a scan and a count.
func (r *run) pruneByIndex(ctx context.Context, t *table) {
	indexes := r.querier.deps.Indexes
	if len(t.Words) == 0 || indexes == nil || t.stream.isMetric() {
		return
	}
	kept := t.segments[:0]
	for _, s := range t.segments {
		slices, err := t.admitted(ctx, indexes, s)
		if err != nil {
			r.querier.metrics.indexFailures.Inc()
			r.querier.deps.Logger.Warn("search index not used, the file is scanned", "segment", int64(s.ID), "error", err)
		}
		switch groups := groupsOf(slices); {
		case slices == nil:
			kept = append(kept, s)
		case len(groups) == 0:
			r.stats.PrunedBy[prunedByIndex]++
		default:
			kept = append(kept, s)
			t.restrict(s, groups, slices)
		}
	}
	t.segments = kept
}

// groupsOf returns the row groups with some slice.
func groupsOf(slices []uint8) []int {
	groups := make([]int, 0, len(slices))
	for i, mask := range slices {
		if mask != 0 {
			groups = append(groups, i)
		}
	}
	return groups
}

// restrict notes the row groups of a segment that the scan may read, and the slices of all.
func (t *table) restrict(s catalog.Segment, groups []int, slices []uint8) {
	if t.slices == nil {
		t.slices = make(map[catalog.SegmentID][]uint8)
	}
	t.slices[s.ID] = slices
	if len(groups) == s.RowGroups || len(t.blocks) >= maxBlocks {
		return
	}
	if t.blocks == nil {
		t.blocks = make(map[catalog.SegmentID][]int)
	}
	t.blocks[s.ID] = groups
}

// admitted returns, by row group of a segment, the slices that can hold all required words; nil means that nothing is known.
func (t *table) admitted(ctx context.Context, indexes Indexes, s catalog.Segment) ([]uint8, error) {
	if s.IndexKey == "" {
		return nil, nil
	}
	var index *searchindex.Index
	var admitted []uint8
	for _, w := range t.Words {
		columns, ok := t.indexed(&s, w.Column)
		if !ok {
			continue
		}
		folded := wholeWords(w)
		if len(folded) == 0 {
			continue
		}
		if index == nil {
			var err error
			if index, err = indexes.OpenIndex(ctx, s); err != nil {
				return nil, err
			}
		}
		some, err := anyColumn(ctx, index, columns, folded)
		if err != nil {
			return nil, err
		}
		admitted = both(admitted, some)
	}
	return admitted, nil
}

// indexed returns the columns of a file that hold a column's texts. It is not ok when the file has values of the column that are no
// text: their words are not in the index.
func (t *table) indexed(s *catalog.Segment, name string) ([]string, bool) {
	c, ok := t.stream.find(name)
	if !ok || c.label || c.ID == 0 {
		return nil, false
	}
	var out []string
	for _, x := range s.Columns {
		if x.ID != c.ID {
			continue
		}
		if x.Type != signal.String && x.Type != signal.JSON {
			return nil, false
		}
		out = append(out, x.Physical)
	}
	return out, true
}

// wholeWords returns the words that a filter can judge: beginnings of words it cannot.
func wholeWords(w sqlplan.RequiredWords) []string {
	var out []string
	for _, x := range w.Words {
		if !x.Prefix {
			out = append(out, x.Text)
		}
	}
	return out
}

// anyColumn returns the slices of row groups in which some of the columns can hold all the words. Without a column it is none.
func anyColumn(ctx context.Context, index *searchindex.Index, columns, folded []string) ([]uint8, error) {
	out := make([]uint8, index.RowGroups())
	for _, c := range columns {
		some, err := index.Slices(ctx, c, folded)
		if err != nil {
			return nil, err
		}
		for i, mask := range some {
			out[i] |= mask
		}
	}
	return out, nil
}

func both(a, b []uint8) []uint8 {
	if a == nil {
		return b
	}
	for i := range a {
		if i < len(b) {
			a[i] &= b[i]
		} else {
			a[i] = 0
		}
	}
	return a
}

// narrow reports whether the index leaves so few row groups that their rows are better looked for one by one.
func (t *table) narrow() bool {
	const part = 4
	all, admitted := 0, 0
	for i := range t.segments {
		s := &t.segments[i]
		groups, ok := t.blocks[s.ID]
		if !ok {
			return false
		}
		all, admitted = all+s.RowGroups, admitted+len(groups)
	}
	return admitted*part <= all
}

// rows returns about how many rows of a segment the scan reads.
func (t *table) rows(s *catalog.Segment) int64 {
	groups, ok := t.blocks[s.ID]
	if !ok || s.RowGroups == 0 {
		return s.Rows
	}
	return min(s.Rows, s.Rows*int64(len(groups))/int64(s.RowGroups)+1)
}

// blocksCondition restricts a scan of segments to their admitted row groups; empty when they are read whole.
func (t *table) blocksCondition(segments []catalog.Segment) string {
	var list []string
	for _, s := range segments {
		groups, ok := t.blocks[s.ID]
		if !ok {
			return ""
		}
		for _, g := range groups {
			list = append(list, strconv.FormatInt(columnar.Block(s.ID, g), 10))
		}
	}
	if len(list) == 0 {
		return ""
	}
	slices.Sort(list)
	return ident(signal.BlockColumn) + " IN (" + strings.Join(list, ", ") + ")"
}
