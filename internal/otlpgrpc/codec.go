package otlpgrpc

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// message is a request or response as bytes.
type message struct{ data []byte }

// codec hands messages of this package through and leaves those of other services of the server to protobuf.
type codec struct{ proto encoding.CodecV2 }

func newCodec() codec { return codec{proto: encoding.GetCodecV2(proto.Name)} }

// Name implements encoding.CodecV2: on the wire it is protobuf.
func (codec) Name() string { return proto.Name }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*message)
	if !ok {
		data, err := c.proto.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("marshal %T: %w", v, err)
		}
		return data, nil
	}
	return mem.BufferSlice{mem.SliceBuffer(m.data)}, nil
}

// Unmarshal implements encoding.CodecV2. The message owns its bytes.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*message)
	if !ok {
		if err := c.proto.Unmarshal(data, v); err != nil {
			return fmt.Errorf("unmarshal %T: %w", v, err)
		}
		return nil
	}
	m.data = data.Materialize()
	return nil
}
