package loki

import (
	"github.com/klauspost/compress/snappy"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
)

// errNoStreams is told when a request has nothing to store in it.
const errNoStreams = "the push request has no streams"

// Unsnappy inflates the snappy block that protobuf bodies are sent in, whatever their Content-Encoding says. It allocates only what
// the block states, which is at most maxBytes: above is TooLarge, a broken block Invalid.
func Unsnappy(block []byte, maxBytes int64) ([]byte, error) {
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "the body is no snappy block")
	}
	if int64(n) > maxBytes {
		return nil, fault.New(fault.TooLarge, "the body inflates to %d bytes, the limit is %d", n, maxBytes)
	}
	plain, err := snappy.Decode(nil, block)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "the body is no snappy block")
	}
	return plain, nil
}

// PlainSize returns how many bytes a snappy block states to have, and so about what Unsnappy allocates; 0 when it is none.
func PlainSize(block []byte) int64 {
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return 0
	}
	return int64(n)
}

// DecodeJSON reads a push request in JSON and hands its entries to emit in order, as rows of the given stream of logs. Entries that
// cannot be stored are in the result, by their place in the request. An error is emit's own, or Invalid for a request that is not
// of the protocol's form; rows from Result.Settled on are then not stored.
func DecodeJSON(body []byte, stream signal.Stream, opts wire.Options, emit wire.Emit) (wire.Result, error) {
	var d jsonDecoder
	d.w.init(stream, opts.WithDefaults(), emit)
	err := d.request(body)
	if err == nil {
		err = d.w.finish()
	}
	return d.w.result, err
}

// DecodeProtobuf reads a push request in protobuf that is inflated already (Unsnappy). See DecodeJSON.
func DecodeProtobuf(body []byte, stream signal.Stream, opts wire.Options, emit wire.Emit) (wire.Result, error) {
	var d protoDecoder
	d.w.init(stream, opts.WithDefaults(), emit)
	err := d.request(body)
	if err == nil {
		err = d.w.finish()
	}
	return d.w.result, err
}
