package ingress

import (
	"context"
	"io"
	"mime"
	"strings"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/promwrite"
)

// RemoteWrite writes a request of Prometheus remote write, whose version the content type tells. Without an encoding the body is a
// snappy block, as the protocol's senders agree. A metric's name is its stream.
func (f *Front) RemoteWrite(ctx context.Context, t Target, contentType, encoding string, body io.Reader) (promwrite.Result, error) {
	version, err := RemoteWriteVersion(contentType)
	if err != nil {
		return promwrite.Result{}, err
	}
	t.Signal, t.Stream = signal.Metrics, "metrics" // a metric's own name decides; this one only passes the check
	stream, err := t.Check()
	if err != nil {
		return promwrite.Result{}, err
	}
	stream.Name = ""
	if strings.TrimSpace(encoding) == "" {
		encoding = "snappy"
	}
	h := f.hold(t.Org)
	defer h.release()
	data, err := f.readAll(h, body, encoding)
	if err != nil {
		return promwrite.Result{}, err
	}
	if err := f.admit(t.Org, len(data)); err != nil {
		return promwrite.Result{}, err
	}
	var result promwrite.Result
	result.Result, err = f.run(ctx, stream, true, func(emit wire.Emit) (wire.Result, error) {
		var err error
		result, err = f.known.Decode(data, version, stream, f.options(t.Org), func(b *signal.Batch) error {
			b.Backfill = t.Backfill
			return emit(b)
		})
		return result.Result, err
	})
	if err != nil && result.Accepted == 0 {
		result.Samples, result.Histograms, result.Exemplars = 0, 0, 0
	}
	// Whether the store refused samples or histograms is not known; one series mostly has one kind.
	refused := result.Causes[wire.DuplicateSample] + result.Causes[wire.OutOfOrder]
	ofSamples := min(refused, result.Samples)
	result.Samples, result.Histograms = result.Samples-ofSamples, max(0, result.Histograms-(refused-ofSamples))
	return result, err
}

// RemoteWriteVersion reads the version out of a content type: application/x-protobuf, with the name of the message as parameter proto.
// Another type is fault.Unsupported.
func RemoteWriteVersion(contentType string) (promwrite.Version, error) {
	media, parameters, err := mime.ParseMediaType(contentType)
	if err == nil && media == "application/x-protobuf" {
		switch parameters["proto"] {
		case "", "prometheus.WriteRequest":
			return promwrite.V1, nil
		case "io.prometheus.write.v2.Request":
			return promwrite.V2, nil
		}
	}
	return 0, fault.New(fault.Unsupported, "content type %.128q is not read here (application/x-protobuf is, with "+
		"proto=prometheus.WriteRequest or io.prometheus.write.v2.Request)", contentType)
}
