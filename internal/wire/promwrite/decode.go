package promwrite

import (
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
)

// Version is a version of the protocol.
type Version uint8

// The versions.
const (
	V1 Version = 1 // prometheus.WriteRequest
	V2 Version = 2 // io.prometheus.write.v2.Request
)

// Result tells what became of a request. The embedded counts are rows; the others are what the headers of version 2.0 tell.
type Result struct {
	wire.Result
	Samples, Histograms, Exemplars int // accepted
}

// Decode reads a request that is inflated already and hands its rows to emit, as rows of many metrics: stream.Name should be empty.
// What cannot be stored is in the result by its place among the samples and histograms of the request. An error is emit's own, or
// Invalid for a body that is not of the protocol's form; rows from Result.Settled on are then not stored.
func Decode(body []byte, version Version, stream signal.Stream, opts wire.Options, emit wire.Emit) (Result, error) {
	return (*Known)(nil).Decode(body, version, stream, opts, emit)
}

// Decode is the function Decode with the help of what is known.
func (k *Known) Decode(body []byte, version Version, stream signal.Stream, opts wire.Options, emit wire.Emit) (Result, error) {
	w := newWriter(version, stream, opts.WithDefaults(), func(b *signal.Batch) error {
		b.Ordered = true
		return emit(b)
	})
	var err error
	if version == V2 {
		d := decoderV2{w: w}
		err = d.request(body)
	} else {
		d := decoderV1{w: w, known: k}
		err = d.request(body)
	}
	if err == nil {
		err = w.finish()
	}
	return w.result, err
}
