package jsonrow

import (
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/jsontext"
)

// Decoder appends JSON objects as rows to a Builder. It serves one goroutine.
type Decoder struct {
	b      *signal.Builder
	signal signal.Signal
	opts   wire.Options
	window wire.Window

	scan     jsontext.Scanner
	fields   []field
	overflow wire.Overflow

	metric *signal.MetricBuilder
	name   []byte // of the metric
	labels signal.LabelSet
	hex    []byte
}

// NewDecoder returns a decoder that appends rows of the stream to b. For metrics the stream's name is the metric's.
func NewDecoder(b *signal.Builder, stream signal.Stream, opts wire.Options) *Decoder {
	opts = opts.WithDefaults()
	return &Decoder{
		b: b, signal: stream.Signal, opts: opts, window: opts.Window(),
		metric: signal.NewMetricBuilder(b), name: []byte(stream.Name),
	}
}

// Decode appends the object that text holds as one finished row. An error is a *wire.Rejection, and then the builder is as before.
func (d *Decoder) Decode(text []byte) error {
	if err := d.flatten(text); err != nil {
		return err
	}
	d.overflow.Reset()
	switch d.signal {
	case signal.Metrics:
		return d.sample()
	case signal.Traces:
		return d.span()
	default:
		return d.logLine()
	}
}

func (d *Decoder) logLine() error {
	nanos, at, err := d.takeTime()
	if err != nil {
		return err
	}
	d.drop(at)
	d.writeRow(nanos, nil)
	return nil
}

// drop takes a field out of the row; -1 is none.
func (d *Decoder) drop(at int) {
	if at >= 0 {
		d.fields[at].value.Kind = jsontext.Null
	}
}

// takeTime returns the event time of the row and the index of the field that gave it, -1 for the time of receipt.
func (d *Decoder) takeTime() (nanos int64, at int, err error) {
	at, best := -1, 0
	for i := range d.fields {
		f := &d.fields[i]
		if f.depth != 1 || f.value.Kind == jsontext.Null {
			continue
		}
		if rank, ok := signal.TimeFieldRank(f.name); ok && (at < 0 || rank < best) {
			at, best = i, rank
		}
	}
	if at < 0 {
		return d.window.Received(), -1, nil
	}
	nanos, err = d.timeOf(&d.fields[at])
	if err == nil {
		err = d.window.Check(nanos)
	}
	return nanos, at, err
}

// timeOf reads a field's value as a time, from its exact text.
func (d *Decoder) timeOf(f *field) (int64, error) {
	switch f.value.Kind {
	case jsontext.String, jsontext.Int64, jsontext.Float64, jsontext.Number:
		nanos, err := signal.ParseTime(f.value.Text)
		if err != nil {
			return 0, wire.Reject(wire.BadTime, "%s: %s", f.name, err.Error())
		}
		return nanos, nil
	default:
		return 0, wire.Reject(wire.BadTime, "%s: %.32q is no time", f.name, f.value.Text)
	}
}

// set writes a value to a column that is not set yet.
func (d *Decoder) set(r signal.Ref, v *jsontext.Value) {
	switch v.Kind {
	case jsontext.String, jsontext.Number:
		d.b.SetString(r, v.Text)
	case jsontext.Int64:
		d.b.SetInt64(r, v.Int)
	case jsontext.Float64:
		d.b.SetFloat64(r, v.Float)
	case jsontext.Bool:
		d.b.SetBool(r, v.Int != 0)
	case jsontext.JSON:
		d.b.SetJSON(r, v.Text)
	case jsontext.Null:
	}
}
