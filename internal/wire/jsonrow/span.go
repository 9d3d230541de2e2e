package jsonrow

import (
	"time"

	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/jsontext"
)

// Fields of a span that the decoder reads itself; all others are attributes.
const (
	traceID      = "trace_id"
	spanID       = "span_id"
	parentSpanID = "parent_span_id"
	spanStart    = "start"
	spanEnd      = "end"
	spanDuration = "duration"
	durationNano = "duration_ns"
)

// spanFields are the places of a span's own fields among the fields of the row, -1 where absent.
type spanFields struct {
	trace, span, parent, start, end, duration, nanos int
}

// span writes the row of a span. "start" is its time, else the time field, else the time of receipt; "end", or "duration" (a text
// such as "1.5ms", or a number of nanoseconds, or "duration_ns"), gives the columns end and duration_ns.
func (d *Decoder) span() error {
	at := d.findSpanFields()
	if err := d.checkIDs(at); err != nil {
		return err
	}
	start, err := d.spanStart(at)
	if err != nil {
		return err
	}
	end, duration, timed, err := d.spanEnd(at, start)
	if err != nil {
		return err
	}
	d.writeRow(start, func() {
		if timed { // first, so that an attribute of these names finds the column taken
			d.b.SetTimestamp(d.b.Column([]byte(spanEnd)), floorMicros(end))
			d.b.SetInt64(d.b.Column([]byte(durationNano)), duration)
		}
	})
	return nil
}

func (d *Decoder) findSpanFields() spanFields {
	at := spanFields{-1, -1, -1, -1, -1, -1, -1}
	for i := range d.fields {
		f := &d.fields[i]
		if f.depth != 1 || f.value.Kind == jsontext.Null {
			continue
		}
		var place *int
		switch string(f.name) {
		case traceID:
			place = &at.trace
		case spanID:
			place = &at.span
		case parentSpanID:
			place = &at.parent
		case spanStart:
			place = &at.start
		case spanEnd:
			place = &at.end
		case spanDuration:
			place = &at.duration
		case durationNano:
			place = &at.nanos
		default:
			continue
		}
		if *place < 0 {
			*place = i
		}
	}
	return at
}

// checkIDs checks the ids and writes them in lower case. An empty parent is none.
func (d *Decoder) checkIDs(at spanFields) error {
	if at.trace < 0 || at.span < 0 {
		return wire.Reject(wire.BadValue, "a span needs %s and %s", traceID, spanID)
	}
	if at.parent >= 0 && d.fields[at.parent].value.Kind == jsontext.String && len(d.fields[at.parent].value.Text) == 0 {
		d.drop(at.parent)
		at.parent = -1
	}
	d.hex = d.hex[:0]
	for _, id := range []struct{ at, digits int }{{at.trace, 32}, {at.span, 16}, {at.parent, 16}} {
		if id.at < 0 {
			continue
		}
		f := &d.fields[id.at]
		text, ok := d.lowerHex(f.value.Text)
		if f.value.Kind != jsontext.String || !ok || len(text) != id.digits {
			return wire.Reject(wire.BadValue, "%s %.40q is not %d hexadecimal digits, not all 0", f.name, f.value.Text, id.digits)
		}
		f.value.Text = text
	}
	return nil
}

// lowerHex returns digits in lower case; false when one is no hexadecimal digit or all are 0.
func (d *Decoder) lowerHex(digits []byte) ([]byte, bool) {
	start := len(d.hex)
	zero := true
	for _, c := range digits {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f':
		case c >= 'A' && c <= 'F':
			c |= 0x20
		default:
			return nil, false
		}
		zero = zero && c == '0'
		d.hex = append(d.hex, c)
	}
	return d.hex[start:len(d.hex):len(d.hex)], !zero
}

func (d *Decoder) spanStart(at spanFields) (int64, error) {
	if at.start < 0 {
		nanos, timeAt, err := d.takeTime()
		d.drop(timeAt)
		return nanos, err
	}
	nanos, err := d.timeOf(&d.fields[at.start])
	if err == nil {
		err = d.window.Check(nanos)
	}
	d.drop(at.start)
	return nanos, err
}

// spanEnd returns end and duration in nanoseconds. timed is false when the row has none of the fields.
func (d *Decoder) spanEnd(at spanFields, start int64) (end, duration int64, timed bool, err error) {
	if at.end < 0 && at.duration < 0 && at.nanos < 0 {
		return 0, 0, false, nil
	}
	if at.end >= 0 {
		if end, err = d.timeOf(&d.fields[at.end]); err != nil {
			return 0, 0, false, err
		}
		if duration = end - start; (duration < 0) != (end < start) {
			return 0, 0, false, wire.Reject(wire.BadTime, "the span lasts longer than 292 years")
		}
	}
	for _, i := range []int{at.duration, at.nanos} {
		if i < 0 {
			continue
		}
		if duration, err = d.durationOf(&d.fields[i]); err != nil {
			return 0, 0, false, err
		}
	}
	if at.end < 0 {
		if end = start + duration; (end < start) != (duration < 0) {
			return 0, 0, false, wire.Reject(wire.BadTime, "the span ends after the year 2262")
		}
	}
	d.drop(at.end)
	d.drop(at.duration)
	d.drop(at.nanos)
	return end, duration, true, nil
}

func (d *Decoder) durationOf(f *field) (int64, error) {
	switch f.value.Kind {
	case jsontext.Int64:
		return f.value.Int, nil
	case jsontext.String:
		if v, err := time.ParseDuration(string(f.value.Text)); err == nil {
			return int64(v), nil
		}
	default:
	}
	return 0, wire.Reject(wire.BadValue, `%s %.32q is no duration (a whole number of nanoseconds, or a text such as "1.5ms", is)`,
		f.name, f.value.Text)
}

func floorMicros(nanos int64) int64 {
	micros := nanos / 1000
	if nanos%1000 < 0 {
		micros--
	}
	return micros
}
