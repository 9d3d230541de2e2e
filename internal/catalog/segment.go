package catalog

import (
	"time"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// Segment is an immutable data file with its index, registered in the catalog.
type Segment struct {
	ID      SegmentID
	Dataset DatasetID
	Org     tenant.ID // repeated so that a reader can check the last mile
	Key     string    // object key, beginning with the org
	Bytes   int64     // size of the data object
	Rows    int64
	MinTime int64 // least event time, microseconds since the epoch, inclusive
	MaxTime int64 // greatest event time, microseconds since the epoch, inclusive
	// Partition is the hour, day or month that all rows lie in (decisions B7).
	Partition Partition
	Level     int    // 0 from a flush, raised by each compaction
	Format    int    // version of the file layout (internal/columnar)
	Checksum  string // of the data object, "xxh64:…"
	RowGroups int
	Columns   []SegmentColumn
	IndexKey  string // object key of the index, empty when there is none
	Index     int64  // size of the index object in bytes
	Created   time.Time
	Retired   time.Time // zero while live
}

// SegmentColumn is one physical column of a file: a column of the stream in one type. A column whose rows in the file have
// several types appears once a type.
type SegmentColumn struct {
	ID       ColumnID    `json:"i"`
	Physical string      `json:"p"` // name in the file
	Type     signal.Type `json:"t"`
	Nulls    int64       `json:"n,omitempty"`
	// Min and Max bound the non-null values, inclusive, as text: integers and timestamps (µs) in decimal, floats in Go's
	// shortest form, strings cut to 64 bytes (Max then rounded up), bools "false" and "true". Both are empty when unknown.
	Min string `json:"a,omitempty"`
	Max string `json:"z,omitempty"`
	// Exact is set when a String or JSON column's Min and Max are whole values.
	Exact bool `json:"e,omitempty"`
}

// Partition is an hour, day or month of event time in UTC.
type Partition struct {
	Unit  PartitionUnit
	Start int64 // first microsecond, inclusive
}

// PartitionUnit is the length of a partition.
type PartitionUnit uint8

// The units. The numbers are stored.
const (
	Hour  PartitionUnit = 1
	Day   PartitionUnit = 2
	Month PartitionUnit = 3
)

// Commit is one flush round of a writer epoch.
type Commit struct {
	Node     string
	Epoch    int64
	Datasets []DatasetCommit
}

// DatasetCommit is the part of one dataset.
type DatasetCommit struct {
	Dataset  DatasetID
	From, To uint64    // the rows of sequences (From, To] are in Segments, every one of them
	Segments []Segment // with numbers drawn before; may be empty when the range holds no rows
	Columns  []PublishedColumns
}

// PublishedColumns names the types that a flush brings for a stream's columns; the catalog joins them to what is published.
type PublishedColumns struct {
	Stream  StreamID
	Columns map[ColumnID]signal.TypeSet
}

// Outcome tells what became of a dataset's part.
type Outcome uint8

// Outcomes.
const (
	Committed Outcome = iota + 1 // published now
	Repeated                     // published before, by the same range
	Stale                        // the committed sequence is another one: reread and trim
	Fenced                       // a later epoch of the node has committed: drop the rows, keep the WAL, refuse writes
	Gone                         // the dataset does not exist any more (its database was dropped): drop the rows
)

// CommitResult is the outcome for one dataset.
type CommitResult struct {
	Outcome Outcome
	Current uint64 // the committed sequence of (dataset, node, epoch) after the call
}

// SnapshotQuery chooses what a snapshot contains.
type SnapshotQuery struct {
	Datasets []DatasetID
	Streams  []StreamID // whose columns are wanted
	Start    int64      // microseconds, inclusive
	End      int64      // microseconds, exclusive
}

// Snapshot is the state of some datasets as of one moment.
type Snapshot struct {
	Segments  []Segment // live ones that overlap [Start, End), by dataset, then MinTime, then ID
	Columns   map[StreamID][]Column
	Committed map[DatasetID]map[WriterKey]uint64
	Versions  map[DatasetID]int64
}

// WriterKey names a writer epoch.
type WriterKey struct {
	Node  string
	Epoch int64
}
