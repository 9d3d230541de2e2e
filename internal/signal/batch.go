package signal

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/millstream/millstream/internal/fault"
)

// Batch is rows of one stream on their way in. Whoever holds a Batch owns one reference to Record and releases it.
type Batch struct {
	Stream Stream
	Record arrow.RecordBatch // shape: see the package comment
	// Settled is how many rows of the client's request, rejected ones included and counted from its start, are settled once this
	// batch and those before it are stored. 0 where the decoder does not tell.
	Settled int
	// Ordered holds the samples of a metrics batch to decisions B8: what a series has already is dropped or refused (RefusedSamples).
	Ordered bool
	// Backfill lets an ordered batch have samples of any age: what was recorded elsewhere, of series that are written now too.
	Backfill bool
	// ID names the batch among all that its sender has sent, zero where it does not. A batch that is written twice under one ID is
	// stored once (decisions D1).
	ID BatchID
	// Block, when set, is Record as package arrowipc writes it: what a node has received is logged without encoding it again.
	Block []byte
}

// BatchID is a number that is unique within its origin, a process that sends batches.
type BatchID struct {
	Origin uint64 // drawn at random at the start of the process, not 0
	Number uint64 // ascending
}

// IsZero reports whether the batch has no id.
func (id BatchID) IsZero() bool { return id.Origin == 0 }

// Rows returns the number of rows.
func (b *Batch) Rows() int { return int(b.Record.NumRows()) }

// Release gives up the holder's reference to the record.
func (b *Batch) Release() { b.Record.Release() }

// TimeRange returns the least and the greatest event time of a record in microseconds since the epoch, both inclusive. The
// record has at least one row.
func TimeRange(r arrow.RecordBatch) (minMicros, maxMicros int64) {
	times := Times(r)
	minMicros, maxMicros = int64(times[0]), int64(times[0])
	for _, t := range times[1:] {
		minMicros, maxMicros = min(minMicros, int64(t)), max(maxMicros, int64(t))
	}
	return minMicros, maxMicros
}

// Times returns the event times of a record in microseconds; the slice belongs to the record.
func Times(r arrow.RecordBatch) []arrow.Timestamp {
	return r.Column(0).(*array.Timestamp).TimestampValues() //nolint:forcetypeassert // CheckRecord holds
}

// Nanos returns the digits of each row below a microsecond, or nil when the record has none; the slice belongs to the record.
func Nanos(r arrow.RecordBatch) []int16 {
	if r.NumCols() < 2 || r.ColumnName(1) != NanosColumn {
		return nil
	}
	return r.Column(1).(*array.Int16).Int16Values() //nolint:forcetypeassert // CheckRecord holds
}

// FirstField returns the index of the first column that is neither TimeColumn nor NanosColumn.
func FirstField(s *arrow.Schema) int {
	if s.NumFields() > 1 && s.Field(1).Name == NanosColumn {
		return 2
	}
	return 1
}

// CheckRecord checks that a record that came over a wire or from a disk has the shape of the package comment.
func CheckRecord(r arrow.RecordBatch) error {
	s := r.Schema()
	if s.NumFields() == 0 || s.Field(0).Name != TimeColumn || !arrow.TypeEqual(s.Field(0).Type, TimestampType) || r.Column(0).NullN() > 0 {
		return fault.New(fault.Corrupt, "batch: the first column is not %s", TimeColumn)
	}
	first := FirstField(s)
	if first == 2 && (s.Field(1).Type.ID() != arrow.INT16 || r.Column(1).NullN() > 0) {
		return fault.New(fault.Corrupt, "batch: %s is not int16", NanosColumn)
	}
	type key struct {
		name string
		typ  Type
	}
	seen := make(map[key]struct{}, s.NumFields())
	for _, f := range s.Fields()[first:] {
		t, ok := FieldType(f)
		if !ok {
			return fault.New(fault.Corrupt, "batch: column %q has the unknown type %s", f.Name, f.Type)
		}
		if _, dup := seen[key{f.Name, t}]; dup {
			return fault.New(fault.Corrupt, "batch: column %q of type %s stands twice", f.Name, t)
		}
		seen[key{f.Name, t}] = struct{}{}
	}
	return nil
}
