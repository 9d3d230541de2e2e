package wire

import (
	"github.com/millstream/millstream/internal/signal"
)

// Bounds of a chunk. Cells count rows × columns, since an absent value takes memory too.
const (
	MaxChunkBytes = 8 << 20
	MaxChunkRows  = 20_000
	MaxChunkCells = 2_000_000
)

// Emit takes over a batch, and with it the reference to its record, also when it returns an error. An error ends decoding.
type Emit func(*signal.Batch) error

// Chunk collects the rows of one stream in a Builder and emits them in pieces of at most MaxChunkBytes (of Arrow memory, unless
// one row alone has more) and MaxChunkRows.
type Chunk struct {
	Builder *signal.Builder
	stream  signal.Stream
	emit    Emit
	result  *Result
}

// NewChunk returns an empty chunk that counts into result.
func NewChunk(stream signal.Stream, emit Emit, result *Result) *Chunk {
	return &Chunk{Builder: signal.NewBuilder(), stream: stream, emit: emit, result: result}
}

// Room emits what is held if a row whose wire form has size bytes might not fit any more. rows is the number of rows that the
// request had before this one.
func (c *Chunk) Room(size, rows int) error {
	n := c.Builder.Rows()
	if n == 0 || (n < MaxChunkRows && c.Builder.Bytes()+2*size <= MaxChunkBytes && n*c.Builder.Columns() < MaxChunkCells) {
		return nil
	}
	return c.Flush(rows)
}

// Flush emits what is held. rows is the number of rows of the request so far, all of which are settled when Flush succeeds.
func (c *Chunk) Flush(rows int) error {
	n := c.Builder.Rows()
	record := c.Builder.Finish()
	if record != nil {
		if err := c.emit(&signal.Batch{Stream: c.stream, Record: record, Settled: rows}); err != nil {
			return err
		}
	}
	c.result.Accepted += n
	c.result.Settled = rows
	return nil
}
