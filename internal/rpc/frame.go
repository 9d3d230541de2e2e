package rpc

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/mem"

	"github.com/millstream/millstream/internal/fault"
)

// codecName is the content subtype of the calls of this package.
const codecName = "millstream"

// frame is a message: uvarint length of the head, head as JSON, body.
type frame struct {
	head []byte
	body []byte
}

// newFrame returns a frame with the head as JSON.
func newFrame(head any, body []byte) (*frame, error) {
	text, err := json.Marshal(head)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", head, err)
	}
	return &frame{head: text, body: body}, nil
}

// into reads the head.
func (f *frame) into(head any) error {
	if err := json.Unmarshal(f.head, head); err != nil {
		return fault.Wrap(fault.Invalid, err, "message of another node: the head is no %T", head)
	}
	return nil
}

// codec carries frames.
type codec struct{}

// Name implements encoding.CodecV2.
func (codec) Name() string { return codecName }

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(*frame)
	if !ok {
		return nil, fmt.Errorf("%T is no frame", v)
	}
	head := binary.AppendUvarint(make([]byte, 0, len(f.head)+binary.MaxVarintLen32), uint64(len(f.head)))
	head = append(head, f.head...)
	return mem.BufferSlice{mem.SliceBuffer(head), mem.SliceBuffer(f.body)}, nil
}

// Unmarshal implements encoding.CodecV2. The frame owns its bytes.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("%T is no frame", v)
	}
	plain := data.Materialize()
	size, n := binary.Uvarint(plain)
	if n <= 0 || size > uint64(len(plain)-n) {
		return fault.New(fault.Invalid, "message of another node: no frame")
	}
	f.head, f.body = plain[n:n+int(size)], plain[n+int(size):]
	return nil
}
