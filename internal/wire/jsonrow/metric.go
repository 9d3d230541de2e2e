package jsonrow

import (
	"bytes"
	"math"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/jsontext"
)

// maxLabels is how many fields a sample may have, a bound far above any series limit.
const maxLabels = 1000

// sample writes the row of a metric: the field "value" is the sample, the time field its time, every other field a label.
func (d *Decoder) sample() error {
	nanos, timeAt, err := d.takeTime()
	if err != nil {
		return err
	}
	value, valueAt, err := d.sampleValue()
	if err != nil {
		return err
	}
	d.drop(timeAt)
	d.drop(valueAt)
	if err := d.fillLabels(); err != nil {
		return err
	}
	d.b.BeginRow()
	d.metric.SetSample(&signal.Sample{Name: d.name, Labels: &d.labels, Nanos: nanos, Value: value, HasValue: true})
	d.overflow.Write(d.b)
	d.b.EndRow(nanos)
	return nil
}

// sampleValue returns the number in the field "value" and the field's index. JSON has no words for values that are no finite
// number, so the texts of query results stand for them.
func (d *Decoder) sampleValue() (value float64, at int, err error) {
	for i := range d.fields {
		f := &d.fields[i]
		if f.depth != 1 || string(f.name) != signal.ValueColumn || f.value.Kind == jsontext.Null {
			continue
		}
		switch f.value.Kind {
		case jsontext.Int64:
			return float64(f.value.Int), i, nil
		case jsontext.Float64:
			return f.value.Float, i, nil
		case jsontext.String:
			switch string(f.value.Text) {
			case "NaN":
				return math.NaN(), i, nil
			case "+Inf":
				return math.Inf(1), i, nil
			case "-Inf":
				return math.Inf(-1), i, nil
			}
		default:
		}
		return 0, 0, wire.Reject(wire.BadValue, `"value" is %.32q: a sample is a number that fits a float64`, f.value.Text)
	}
	return 0, 0, wire.Reject(wire.BadValue, `a sample needs a number in the field "value"`)
}

// fillLabels collects the labels. Of fields that share a name the one with the fewest keys in its path is the label, the others go
// to the overflow. It fails when the labels are above the org's limits.
func (d *Decoder) fillLabels() error {
	if len(d.fields) > maxLabels {
		return wire.Reject(wire.BadValue, "the sample has more than %d fields", maxLabels)
	}
	d.labels.Reset()
	for depth := 1; depth <= MaxFlattenDepth; depth++ {
		deeper := false
		for i := range d.fields {
			f := &d.fields[i]
			deeper = deeper || f.depth > depth
			if f.depth != depth || f.value.Kind == jsontext.Null {
				continue
			}
			if string(f.name) == "__name__" {
				if !bytes.Equal(f.value.Text, d.name) {
					return wire.Reject(wire.BadValue, "__name__ is %.64q, but the path names the metric %.64q", f.value.Text, d.name)
				}
				continue
			}
			if len(f.name) == 0 || !d.labels.Add(f.name, f.value.Text) {
				d.overflowField(f)
			}
		}
		if !deeper {
			break
		}
	}
	return d.opts.CheckLabels(&d.labels)
}
