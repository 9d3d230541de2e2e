package answer

import (
	"context"
	"slices"
	"time"
)

// Split says how the answer to a question is made from the answers to parts of it, which are the same question about shorter times. The
// parts' times follow on each other without gap and overlap; every row of the question belongs to one part.
type Split struct {
	// Statement is what every part asks, with Now as its time and without a Limit.
	Statement string
	Now       time.Time
	// Start (inclusive) and End (exclusive) bound the rows that can matter, as far as the statement tells; zero = open.
	Start, End time.Time
	// Rows or Groups is set.
	Rows   *SplitRows
	Groups *SplitGroups
}

// SplitRows says that the answer is the first Limit rows of the parts' rows in the order of time after Offset rows are left out, and that
// every part gives its first Offset + Limit ones.
type SplitRows struct {
	Limit, Offset int64
	Descending    bool // the newest part comes first
}

// SplitGroups says that rows of parts that have the same keys become one row.
type SplitGroups struct {
	// Columns are those of the answer: the parts' first ones.
	Columns []SplitColumn
	// Hidden are the parts' further ones, which Columns, Having or Order need.
	Hidden []SplitColumn
	// Having is what a row of the answer meets; nil = nothing is asked of it.
	Having *SplitCondition
	// Order sorts the rows, by its first entry first; empty = in no order.
	Order []SplitOrder
	// Limit is the most rows of the answer after Offset rows are left out; below 0 = all.
	Limit, Offset int64
}

// SplitMerge says how the values of a column become one.
type SplitMerge string

// The ways.
const (
	MergeKey SplitMerge = "key" // they are equal
	MergeSum SplitMerge = "sum" // of sums and counts
	MergeMin SplitMerge = "min"
	MergeMax SplitMerge = "max"
	MergeAvg SplitMerge = "avg" // the parts give sum and count in further columns
)

// SplitColumn is one column of the answer.
type SplitColumn struct {
	Merge SplitMerge
	// Sum and Count are the parts' columns that MergeAvg needs.
	Sum, Count int
}

// SplitCondition is a condition about a row that was put together, true, false or unknown as in SQL.
type SplitCondition struct {
	Test SplitTest
	Of   []SplitCondition // what TestAnd, TestOr (two or more) and TestNot (one) are about
	// Column is what the other tests look at, Columns before Hidden.
	Column int
	// Number or Text, when IsText is set, is what the column is compared with.
	Number int64
	Text   string
	IsText bool
}

// SplitTest says what a condition asks.
type SplitTest string

// The tests.
const (
	TestAnd            SplitTest = "and"
	TestOr             SplitTest = "or"
	TestNot            SplitTest = "not"
	TestNull           SplitTest = "null"
	TestEqual          SplitTest = "="
	TestNotEqual       SplitTest = "<>"
	TestLess           SplitTest = "<"
	TestLessOrEqual    SplitTest = "<="
	TestGreater        SplitTest = ">"
	TestGreaterOrEqual SplitTest = ">="
)

// SplitOrder sorts by a column, Columns before Hidden.
type SplitOrder struct {
	Column     int
	Descending bool
	NullsFirst bool
}

// Splitter finds out whether a question can be answered in parts.
type Splitter interface {
	// Split returns nil without an error for a question that cannot, which says nothing about whether it can be answered.
	Split(ctx context.Context, q Question) (*Split, error)
}

// Add adds what another part of the same answer has cost, and those of its warnings that are not there yet.
func (m *Meta) Add(o Meta) {
	a, b := &m.Stats, o.Stats
	a.ScannedRows += b.ScannedRows
	a.ScannedBytes += b.ScannedBytes
	a.FreshRows += b.FreshRows
	a.Segments += b.Segments
	a.SegmentsPruned += b.SegmentsPruned
	a.RowGroups += b.RowGroups
	a.GroupsPruned += b.GroupsPruned
	a.Rows += b.Rows
	a.TookMS += b.TookMS
	for reason, n := range b.Pruned {
		if a.Pruned == nil {
			a.Pruned = make(map[string]int64)
		}
		a.Pruned[reason] += n
	}
	for _, w := range o.Warnings {
		if !slices.Contains(m.Warnings, w) {
			m.Warnings = append(m.Warnings, w)
		}
	}
}
