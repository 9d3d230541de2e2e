package ingress

import (
	"context"
	"io"
	"mime"
	"strings"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/loki"
)

// Loki writes a push request of Loki: JSON when the content type says so, else protobuf in a snappy block. The target's Stream may
// be empty: signal.DefaultLoki.
func (f *Front) Loki(ctx context.Context, t Target, contentType, encoding string, body io.Reader) (wire.Result, error) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return wire.Result{}, fault.New(fault.Invalid,
			"content type %.64q cannot be read (application/json or application/x-protobuf)", contentType)
	}
	t.Signal, t.Stream = signal.Logs, orDefault(t.Stream, signal.DefaultLoki)
	stream, err := t.Check()
	if err != nil {
		return wire.Result{}, err
	}
	isJSON := media == "application/json"
	if !isJSON && strings.EqualFold(strings.TrimSpace(encoding), "snappy") {
		encoding = "" // says again what the protobuf form always is
	}
	h := f.hold(t.Org)
	defer h.release()
	data, err := f.readAll(h, body, encoding)
	if err != nil {
		return wire.Result{}, err
	}
	decode := loki.DecodeJSON
	if !isJSON {
		decode = loki.DecodeProtobuf
		if err := h.take(loki.PlainSize(data)); err != nil {
			return wire.Result{}, err
		}
		if data, err = loki.Unsnappy(data, f.limits.MaxBodyBytes); err != nil {
			return wire.Result{}, err
		}
	}
	if err := f.admit(t.Org, len(data)); err != nil {
		return wire.Result{}, err
	}
	return f.run(ctx, stream, true, func(emit wire.Emit) (wire.Result, error) { return decode(data, stream, f.options(t.Org), emit) })
}
