package ingest

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/klauspost/compress/s2"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// payloadVersion is the first byte of every payload (docs/format/wal.md, "Payload").
const payloadVersion = 1

// codec turns batches into log payloads. The zero value is ready; it is safe for concurrent use.
type codec struct {
	buffers sync.Pool // *bytes.Buffer with the plain IPC stream
}

// encode returns the payload of one batch:
//
//	u8 version, uvarint stream id, u8 signal, then org, database and name each as uvarint length and bytes,
//	then an S2 block that holds an Arrow IPC stream of one record.
func (c *codec) encode(s catalog.Stream, r arrow.RecordBatch) ([]byte, error) {
	plain, _ := c.buffers.Get().(*bytes.Buffer)
	if plain == nil {
		plain = new(bytes.Buffer)
	}
	defer c.buffers.Put(plain)
	plain.Reset()
	w := ipc.NewWriter(plain, ipc.WithSchema(r.Schema()))
	if err := w.Write(r); err != nil {
		return nil, fault.Wrap(fault.Internal, err, "encode batch of %s", s.Stream)
	}
	if err := w.Close(); err != nil {
		return nil, fault.Wrap(fault.Internal, err, "encode batch of %s", s.Stream)
	}
	head := make([]byte, 0, 64+s2.MaxEncodedLen(plain.Len()))
	head = append(head, payloadVersion)
	head = binary.AppendUvarint(head, uint64(s.ID))
	head = append(head, byte(s.Signal))
	for _, text := range []string{string(s.Org), s.Stream.Database, s.Name} {
		head = binary.AppendUvarint(head, uint64(len(text)))
		head = append(head, text...)
	}
	n := len(head)
	block := s2.Encode(head[n:cap(head)], plain.Bytes())
	return append(head, block...), nil
}

// decoded is what a payload holds. The record owns its memory.
type decoded struct {
	id     catalog.StreamID
	stream signal.Stream
	record arrow.RecordBatch
}

// decode is the inverse of encode. Any malformed payload is fault.Corrupt.
func (c *codec) decode(payload []byte) (decoded, error) {
	var d decoded
	if len(payload) == 0 || payload[0] != payloadVersion {
		return d, fault.New(fault.Corrupt, "log payload: unknown version")
	}
	rest := payload[1:]
	id, n := binary.Uvarint(rest)
	if n <= 0 || len(rest) < n+1 {
		return d, errShortPayload()
	}
	d.id, d.stream.Signal, rest = catalog.StreamID(id), signal.Signal(rest[n]), rest[n+1:]
	var texts [3]string
	for i := range texts {
		size, n := binary.Uvarint(rest)
		if n <= 0 || uint64(len(rest)-n) < size {
			return d, errShortPayload()
		}
		texts[i], rest = string(rest[n:n+int(size)]), rest[n+int(size):]
	}
	d.stream.Org, d.stream.Database, d.stream.Name = tenant.ID(texts[0]), texts[1], texts[2]
	plain, err := s2.Decode(nil, rest)
	if err != nil {
		return d, fault.Wrap(fault.Corrupt, err, "log payload: decompress")
	}
	d.record, err = decodeRecord(plain)
	return d, err
}

func errShortPayload() error { return fault.New(fault.Corrupt, "log payload: cut short") }

// decodeRecord reads the one record of an IPC stream; the record refers to plain.
func decodeRecord(plain []byte) (arrow.RecordBatch, error) {
	r, err := ipc.NewReader(bytes.NewReader(plain))
	if err != nil {
		return nil, fault.Wrap(fault.Corrupt, err, "log payload: read schema")
	}
	defer r.Release()
	if !r.Next() {
		return nil, fault.Wrap(fault.Corrupt, r.Err(), "log payload: read record")
	}
	record := r.RecordBatch()
	if err := signal.CheckRecord(record); err != nil {
		return nil, err
	}
	record.Retain()
	return record, nil
}
