package fresh

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/tenant"
)

// Request chooses fresh rows.
type Request struct {
	Org      tenant.ID
	Datasets []catalog.DatasetID
	// Columns are the logical names wanted of every dataset, all their type variants included; nil asks for all columns. The
	// event time (signal.TimeColumn, signal.NanosColumn) always comes. A holder may send more columns than were asked.
	Columns []string
	Start   int64 // microseconds since the epoch, inclusive
	End     int64 // microseconds since the epoch, exclusive
}

// Chunk is one logged batch of a dataset, or what of it lies in the asked time range.
type Chunk struct {
	Seq    uint64            // its sequence within (dataset, node, epoch)
	Record arrow.RecordBatch // shape: package signal; owned by the receiver of the Result
}

// Snapshot is the fresh rows of one dataset at one writer epoch, as of one moment.
type Snapshot struct {
	Writer  catalog.WriterKey
	Dataset catalog.DatasetID
	Chunks  []Chunk // by Seq, ascending; several chunks may carry one Seq
}

// Result is the answer of one writer, or the joined answers of all of them.
type Result struct {
	Snapshots []Snapshot
	// Warnings name writer epochs that did not answer, in words for the asking user.
	Warnings []string
}

// Release gives up all records.
func (r *Result) Release() {
	for _, s := range r.Snapshots {
		for _, c := range s.Chunks {
			c.Record.Release()
		}
	}
	r.Snapshots = nil
}

// Join appends the answer of another writer to r, which then owns its records.
func (r *Result) Join(other Result) {
	r.Snapshots = append(r.Snapshots, other.Snapshots...)
	r.Warnings = append(r.Warnings, other.Warnings...)
}

// Rows counts the rows of all chunks.
func (r *Result) Rows() int64 {
	var n int64
	for _, s := range r.Snapshots {
		for _, c := range s.Chunks {
			n += c.Record.NumRows()
		}
	}
	return n
}

// Uncommitted returns, by dataset, the records that the catalog's snapshot does not have as segments: those above the committed sequence
// of their writer (architecture, promise 2). The snapshot was taken after r. The records stay r's.
func (r *Result) Uncommitted(committed map[catalog.DatasetID]map[catalog.WriterKey]uint64) map[catalog.DatasetID][]arrow.RecordBatch {
	out := make(map[catalog.DatasetID][]arrow.RecordBatch)
	for _, s := range r.Snapshots {
		upTo := committed[s.Dataset][s.Writer]
		for _, c := range s.Chunks {
			if c.Seq > upTo && c.Record.NumRows() > 0 {
				out[s.Dataset] = append(out[s.Dataset], c.Record)
			}
		}
	}
	return out
}
