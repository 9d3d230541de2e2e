package ingest

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire/arrowipc"
)

// Versions of a payload, its first byte (docs/format/wal.md, "Payload").
const (
	payloadPlain      = 1
	payloadIdentified = 2 // the batch's id follows the version
)

// batchIDSize is the bytes of a signal.BatchID in a payload.
const batchIDSize = 16

// codec turns batches into log payloads. The zero value is ready; it is safe for concurrent use.
type codec struct{ blocks arrowipc.Codec }

// encode returns the payload of one batch, whose record is r after the fold:
//
//	u8 version, in version 2 the batch's origin and number as big-endian u64, uvarint stream id, u8 signal,
//	then org, database and name each as uvarint length and bytes, then a block of package arrowipc.
func (c *codec) encode(s catalog.Stream, id signal.BatchID, r arrow.RecordBatch, block []byte) ([]byte, error) {
	head := make([]byte, 0, 96+len(block))
	if id.IsZero() {
		head = append(head, payloadPlain)
	} else {
		head = append(head, payloadIdentified)
		head = binary.BigEndian.AppendUint64(head, id.Origin)
		head = binary.BigEndian.AppendUint64(head, id.Number)
	}
	head = binary.AppendUvarint(head, uint64(s.ID))
	head = append(head, byte(s.Signal))
	for _, text := range []string{string(s.Org), s.Stream.Database, s.Name} {
		head = binary.AppendUvarint(head, uint64(len(text)))
		head = append(head, text...)
	}
	if block != nil {
		return append(head, block...), nil
	}
	payload, err := c.blocks.Append(head, r.Schema(), r)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "encode batch of %s", s.Stream)
	}
	return payload, nil
}

// batchID returns the id in a payload, the zero one when it has none, and what follows it.
func batchID(payload []byte) (id signal.BatchID, rest []byte, err error) {
	switch {
	case len(payload) > 0 && payload[0] == payloadPlain:
		return id, payload[1:], nil
	case len(payload) > batchIDSize && payload[0] == payloadIdentified:
		id.Origin, id.Number = binary.BigEndian.Uint64(payload[1:]), binary.BigEndian.Uint64(payload[9:])
		return id, payload[1+batchIDSize:], nil
	default:
		return id, nil, fault.New(fault.Corrupt, "log payload: unknown version")
	}
}

// decoded is what a payload holds. The record owns its memory.
type decoded struct {
	id     catalog.StreamID
	batch  signal.BatchID
	stream signal.Stream
	record arrow.RecordBatch
}

// decode is the inverse of encode. Any malformed payload is fault.Corrupt.
func (c *codec) decode(payload []byte) (decoded, error) {
	var d decoded
	var rest []byte
	var err error
	if d.batch, rest, err = batchID(payload); err != nil {
		return d, err
	}
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
	d.record, err = DecodeRecord(&c.blocks, rest)
	return d, err
}

func errShortPayload() error { return fault.New(fault.Corrupt, "log payload: cut short") }

// DecodeRecord reads a block that holds a record of the shape of package signal; the caller releases it.
func DecodeRecord(c *arrowipc.Codec, block []byte) (arrow.RecordBatch, error) {
	_, record, err := c.Decode(block)
	if err != nil {
		return nil, err
	}
	if record == nil {
		return nil, fault.New(fault.Corrupt, "batch: no record")
	}
	if err := signal.CheckRecord(record); err != nil {
		record.Release()
		return nil, err
	}
	return record, nil
}
