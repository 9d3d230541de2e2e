package arrowipc

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/klauspost/compress/s2"

	"github.com/millstream/millstream/internal/fault"
)

// MaxPlainBytes bounds the inflated size of a block that Decode reads: above every batch that the decoders make.
const MaxPlainBytes = 1 << 30

// Codec makes and reads blocks. The zero value is ready; it is safe for concurrent use.
type Codec struct {
	buffers sync.Pool // *bytes.Buffer with the plain IPC stream
}

// Append appends the block of a schema and at most one record to dst. A nil record makes a block that holds the schema alone.
func (c *Codec) Append(dst []byte, schema *arrow.Schema, r arrow.RecordBatch) ([]byte, error) {
	plain, _ := c.buffers.Get().(*bytes.Buffer)
	if plain == nil {
		plain = new(bytes.Buffer)
	}
	defer c.buffers.Put(plain)
	plain.Reset()
	w := ipc.NewWriter(plain, ipc.WithSchema(schema))
	if r != nil {
		if err := w.Write(r); err != nil {
			return nil, fmt.Errorf("encode record: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	n := len(dst)
	if room := s2.MaxEncodedLen(plain.Len()); cap(dst)-n < room {
		dst = append(make([]byte, 0, n+room), dst...)
	}
	block := s2.Encode(dst[n:cap(dst)], plain.Bytes())
	return dst[:n+len(block)], nil
}

// Decode reads a block: its schema, and its record or nil. The record owns its memory and is released by the caller. What is no
// block is fault.Corrupt.
func (*Codec) Decode(block []byte) (*arrow.Schema, arrow.RecordBatch, error) {
	size, err := s2.DecodedLen(block)
	if err != nil || size > MaxPlainBytes {
		return nil, nil, fault.Wrap(fault.Corrupt, err, "batch: no block, or one of more than %d bytes", MaxPlainBytes)
	}
	plain, err := s2.Decode(nil, block)
	if err != nil {
		return nil, nil, fault.Wrap(fault.Corrupt, err, "batch: decompress")
	}
	r, err := ipc.NewReader(bytes.NewReader(plain))
	if err != nil {
		return nil, nil, fault.Wrap(fault.Corrupt, err, "batch: read schema")
	}
	defer r.Release()
	if !r.Next() {
		if r.Err() != nil {
			return nil, nil, fault.Wrap(fault.Corrupt, r.Err(), "batch: read record")
		}
		return r.Schema(), nil, nil
	}
	record := r.RecordBatch()
	record.Retain()
	return r.Schema(), record, nil
}
