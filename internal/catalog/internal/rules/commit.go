package rules

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// MaxSegment is the greatest segment number: number << 20 | row group must fit an int64.
const MaxSegment = 1<<43 - 1

// State is what a catalog knows of one (dataset, node, epoch) when a commit's part is judged.
type State struct {
	Exists    bool      // the dataset does
	Org       tenant.ID // the dataset's
	Committed uint64    // sequence of (dataset, node, epoch), 0 when there is none
	Fenced    bool      // a later epoch of the node has committed to the dataset
}

// Judge returns the outcome of a dataset's part: first the fence, then compare-and-set. Current is right for every outcome if the
// caller applies the part when the outcome is Committed.
func Judge(s State, d *catalog.DatasetCommit) catalog.CommitResult {
	switch {
	case !s.Exists:
		return catalog.CommitResult{Outcome: catalog.Gone}
	case s.Fenced:
		return catalog.CommitResult{Outcome: catalog.Fenced, Current: s.Committed}
	case s.Committed == d.To:
		return catalog.CommitResult{Outcome: catalog.Repeated, Current: s.Committed}
	case s.Committed != d.From:
		return catalog.CommitResult{Outcome: catalog.Stale, Current: s.Committed}
	default:
		return catalog.CommitResult{Outcome: catalog.Committed, Current: d.To}
	}
}

// JudgeAll judges every part of a round by the state of its dataset. It fails when a part that would be published carries segments
// of another org than the dataset's.
func JudgeAll(c *catalog.Commit, states map[catalog.DatasetID]State) ([]catalog.CommitResult, error) {
	results := make([]catalog.CommitResult, len(c.Datasets))
	for i := range c.Datasets {
		d := &c.Datasets[i]
		s := states[d.Dataset]
		results[i] = Judge(s, d)
		if results[i].Outcome != catalog.Committed {
			continue
		}
		if err := CheckOrg(s.Org, d.Segments); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// CheckCommit checks the parts of a commit that need no state: each dataset stands once, ranges are not empty and fit the engines'
// integers, and segments name their dataset. Its errors are of kind Invalid.
func CheckCommit(c *catalog.Commit) error {
	seen := make(map[catalog.DatasetID]struct{}, len(c.Datasets))
	for i := range c.Datasets {
		d := &c.Datasets[i]
		if _, twice := seen[d.Dataset]; twice {
			return fault.New(fault.Invalid, "commit: dataset %d stands twice in one round", d.Dataset)
		}
		seen[d.Dataset] = struct{}{}
		if d.From >= d.To || d.To > math.MaxInt64 {
			return fault.New(fault.Invalid, "commit: dataset %d has the range (%d, %d]", d.Dataset, d.From, d.To)
		}
		if err := CheckSegments(d.Dataset, d.Segments); err != nil {
			return fmt.Errorf("commit: %w", err)
		}
	}
	return nil
}

// CheckSegments checks that new segments belong to the dataset and have a number and a key.
func CheckSegments(dataset catalog.DatasetID, segments []catalog.Segment) error {
	for i := range segments {
		s := &segments[i]
		switch {
		case s.ID <= 0 || s.ID > MaxSegment:
			return fault.New(fault.Invalid, "segment number %d is out of range", s.ID)
		case s.Dataset != dataset:
			return fault.New(fault.Invalid, "segment %d belongs to dataset %d, not %d", s.ID, s.Dataset, dataset)
		case s.Key == "" || !isText(s.Key) || !isText(s.IndexKey):
			return fault.New(fault.Invalid, "segment %d has the object keys %q and %q", s.ID, s.Key, s.IndexKey)
		case s.MinTime > s.MaxTime:
			return fault.New(fault.Invalid, "segment %d begins at %d and ends at %d", s.ID, s.MinTime, s.MaxTime)
		}
	}
	return nil
}

// CheckOrg checks that segments carry the org of their dataset.
func CheckOrg(org tenant.ID, segments []catalog.Segment) error {
	for i := range segments {
		if s := &segments[i]; s.Org != org {
			return fault.New(fault.Invalid, "segment %d is of org %q, its dataset of another", s.ID, s.Org)
		}
	}
	return nil
}

// With adds a committed sequence of the node to the state: one of a later epoch, or of the epoch that commits.
func (s State) With(later bool, sequence uint64) State {
	if later {
		s.Fenced = true
	} else {
		s.Committed = sequence
	}
	return s
}

// CheckReplace checks what a replacement must satisfy in any state.
func CheckReplace(dataset catalog.DatasetID, old []catalog.SegmentID, added []catalog.Segment) error {
	if len(old) == 0 {
		return fault.New(fault.Invalid, "replace: no segment of dataset %d is named", dataset)
	}
	if err := CheckSegments(dataset, added); err != nil {
		return fmt.Errorf("replace: %w", err)
	}
	return nil
}

// CheckIndex checks what a new index of a segment must satisfy in any state.
func CheckIndex(old, key string, size int64) error {
	if key == "" || key == old || !isText(key) || !isText(old) || size <= 0 {
		return fault.New(fault.Invalid, "set index: %q of %d bytes in the place of %q", key, size, old)
	}
	return nil
}

// DatasetIDs returns the datasets of a round in its order.
func DatasetIDs(c *catalog.Commit) []catalog.DatasetID {
	ids := make([]catalog.DatasetID, len(c.Datasets))
	for i := range c.Datasets {
		ids[i] = c.Datasets[i].Dataset
	}
	return ids
}

// SegmentIDs returns the numbers of segments.
func SegmentIDs(segments []catalog.Segment) []catalog.SegmentID {
	ids := make([]catalog.SegmentID, len(segments))
	for i := range segments {
		ids[i] = segments[i].ID
	}
	return ids
}

// ErrUnknownColumn is the answer to a commit that publishes types of a column that its dataset's streams do not have.
var ErrUnknownColumn = fault.New(fault.Invalid, "commit: a published column is not reserved")

// PublishedColumn is one entry of catalog.PublishedColumns.
type PublishedColumn struct {
	Dataset catalog.DatasetID
	Stream  catalog.StreamID
	Column  catalog.ColumnID
	Types   signal.TypeSet
}

// Published lists the columns that the committed parts of a round publish, each once, by stream and id.
func Published(c *catalog.Commit, results []catalog.CommitResult) []PublishedColumn {
	joined := make(map[PublishedColumn]signal.TypeSet) // the key's Types are zero
	for i := range c.Datasets {
		if results[i].Outcome != catalog.Committed {
			continue
		}
		for _, p := range c.Datasets[i].Columns {
			for column, types := range p.Columns {
				joined[PublishedColumn{Dataset: c.Datasets[i].Dataset, Stream: p.Stream, Column: column}] |= types
			}
		}
	}
	out := make([]PublishedColumn, 0, len(joined))
	for p, types := range joined {
		p.Types = types
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b PublishedColumn) int {
		return cmp.Or(cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Dataset, b.Dataset))
	})
	return out
}
