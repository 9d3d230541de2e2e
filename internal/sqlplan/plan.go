package sqlplan

import (
	"time"

	"github.com/millstream/millstream/internal/catalog"
)

// Plan is a statement that may run: its text, and what every table of it must show.
type Plan struct {
	// SQL is the statement for the engine. It reads nothing but the tables' generated names.
	SQL string
	// Tables are the statement's references to streams in the order of the text: one for each reference, so a self join has two.
	// The caller makes a view of each one's name.
	Tables []Table
	// Entries is what the answer may hold of stored rows.
	Entries Entries
	// Counts, when not nil, says that it suffices to know how many rows of the only table there are of each kind.
	Counts *Counts
	// Total, when not empty, says that the answer is the number of all rows of all Tables, as one BIGINT of this name.
	Total string

	source *source // the user's text and the way back to it
}

// Table is one reference to a stream and what the statement needs of it.
type Table struct {
	// Name is the generated name under which SQL reads the stream.
	Name   string
	Stream catalog.Stream
	// Columns are the columns that the statement may read.
	Columns ColumnSet
	// Time bounds the rows that the statement may read by their _timestamp. The statement keeps its own conditions.
	Time TimeRange
	// Predicates hold for every row that the statement reads: rows that contradict one need not be shown.
	Predicates []Predicate
	// Words are words that a column of every row that the statement reads must contain.
	Words []RequiredWords
	// TopN, when not nil, says that the first rows in the order of time are enough.
	TopN *TopN
}

// ColumnSet is a set of columns by physical name.
type ColumnSet struct {
	// All means every column that SELECT * shows.
	All bool
	// Names are the columns that the statement names: physical names, sorted, columns of ours (_timestamp_nanos, _block) included. With
	// All, they are needed in addition.
	Names []string
}

// TimeRange is [Start, End) in microseconds since 1970 UTC.
type TimeRange struct {
	Start, End int64
}

// Whole time: every timestamp is within it but the very last microsecond that int64 can say.
const (
	MinTime int64 = -1 << 63
	MaxTime int64 = 1<<63 - 1
)

// Empty reports that no row can be in the range.
func (r TimeRange) Empty() bool { return r.Start >= r.End }

// Intersect returns what is in both ranges.
func (r TimeRange) Intersect(o TimeRange) TimeRange {
	return TimeRange{Start: max(r.Start, o.Start), End: min(r.End, o.End)}
}

// Between returns the range [start, end); a zero time leaves that side open.
func Between(start, end time.Time) TimeRange {
	r := TimeRange{Start: MinTime, End: MaxTime}
	if !start.IsZero() {
		r.Start = start.UnixMicro()
	}
	if !end.IsZero() {
		r.End = ceilMicro(end)
	}
	return r
}

// ceilMicro returns the first whole microsecond at or after t, so that rows with the nanoseconds of an exclusive end stay in.
func ceilMicro(t time.Time) int64 {
	m := t.UnixMicro()
	if t.Nanosecond()%int(time.Microsecond) > 0 {
		m++
	}
	return m
}

// Op is the comparison of a Predicate.
type Op string

// The comparisons.
const (
	Equal          Op = "="
	Less           Op = "<"
	LessOrEqual    Op = "<="
	Greater        Op = ">"
	GreaterOrEqual Op = ">="
	In             Op = "IN" // equal to one of the values
	IsNotNull      Op = "IS NOT NULL"
)

// Possible tells from how two bounds, both inclusive, compare with a constant (negative, 0 or positive) whether a value between them may
// compare with it as the operator says. It is true for IsNotNull.
func (op Op) Possible(low, high int) bool {
	switch op {
	case Equal, In:
		return low <= 0 && high >= 0
	case Less:
		return low < 0
	case LessOrEqual:
		return low <= 0
	case Greater:
		return high > 0
	case GreaterOrEqual:
		return high >= 0
	default:
		return true
	}
}

// Predicate is a comparison of a column with constants that holds for every row that the statement reads. A row whose column is NULL or
// missing contradicts it.
type Predicate struct {
	Column string // physical name
	Op     Op
	// Values are the constants: one, or for In one or more, for IsNotNull none. Never NULL.
	Values []Constant
}

// RequiredWords says that the column's text contains all the words.
type RequiredWords struct {
	Column string // physical name
	Words  []Word
}

// Word is a word as package words defines it, folded.
type Word struct {
	Text   string
	Prefix bool // the text contains a word that begins so
}

// TopN says that a statement needs only the first Rows, in the order of _timestamp, of those rows of its only table that pass its WHERE
// clause.
type TopN struct {
	Rows       int64 // LIMIT plus OFFSET
	Offset     int64
	Descending bool // the newest, else the oldest
	Filtered   bool // there is a WHERE clause
}
