package loki

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/jsontext"
)

// jsonDecoder reads {"streams":[…]}. Members that it does not know are skipped.
type jsonDecoder struct {
	w       writer
	s       jsontext.Scanner
	streams int
}

func (d *jsonDecoder) request(body []byte) error {
	d.s.Reset(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	err := d.s.Object(func(key []byte) error {
		if string(key) == "streams" {
			return d.s.Array(d.stream)
		}
		return d.skip(1)
	})
	if err == nil {
		err = d.s.End()
	}
	var syntax *jsontext.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fault.New(fault.Invalid, "the push request is broken: %s", syntax.Error())
	case err != nil:
		return err
	case d.streams == 0:
		return fault.New(fault.Invalid, "%s", errNoStreams)
	default:
		return nil
	}
}

// skip takes a value of no interest.
func (d *jsonDecoder) skip(depth int) error {
	var v jsontext.Value
	return d.s.Value(&v, depth)
}

// stream takes one stream. Its entries may stand before its labels, then they are read in a second go.
func (d *jsonDecoder) stream() error {
	d.streams++
	d.w.labels.Reset()
	var refused error // concerns this stream only
	labelled, entriesAt := false, -1
	err := d.s.Object(func(key []byte) error {
		switch string(key) {
		case "stream":
			labelled = true
			var err error
			refused, err = d.labelMap()
			return err
		case "labels":
			labelled = true
			var err error
			refused, err = d.labelText()
			return err
		case "values", "entries":
			if !labelled {
				entriesAt = d.s.Offset()
				err := d.skip(3)
				d.s.Free()
				return err
			}
			d.w.beginStream(refused)
			return d.entries()
		default:
			err := d.skip(3)
			d.s.Free()
			return err
		}
	})
	if err != nil || entriesAt < 0 {
		return err
	}
	end := d.s.Offset()
	d.s.Seek(entriesAt)
	d.w.beginStream(refused)
	err = d.entries()
	d.s.Seek(end)
	return err
}

// labelMap takes an object of labels. refused says what is wrong with the first bad one.
func (d *jsonDecoder) labelMap() (refused, err error) {
	if d.s.Next() == 'n' {
		return nil, d.skip(3)
	}
	err = d.s.Object(func(key []byte) error {
		var v jsontext.Value
		if err := d.s.Value(&v, 4); err != nil {
			return err
		}
		if v.Kind != jsontext.String {
			return d.s.Fail("the value of a label is not a string")
		}
		if err := addLabel(&d.w.labels, key, v.Text); err != nil && refused == nil {
			refused = err
		}
		d.s.Free()
		return nil
	})
	return refused, err
}

// labelText takes a string that is a label set. refused says what is wrong with the set.
func (d *jsonDecoder) labelText() (refused, err error) {
	text, err := d.text()
	if err != nil {
		return nil, err
	}
	return parseLabels(&d.w.labels, text), nil
}

// text takes a string.
func (d *jsonDecoder) text() ([]byte, error) {
	if d.s.Next() != '"' {
		return nil, d.s.Fail("a string is expected")
	}
	return d.s.String()
}

func (d *jsonDecoder) entries() error {
	if d.s.Next() == 'n' {
		return d.skip(3)
	}
	return d.s.Array(func() error {
		d.w.entry.reset()
		var refused, err error
		if d.s.Next() == '[' {
			err = d.valueEntry()
		} else {
			refused, err = d.legacyEntry()
		}
		if err == nil {
			err = d.w.add(refused)
		}
		d.s.Free()
		return err
	})
}

// valueEntry takes [time, line] or [time, line, metadata].
func (d *jsonDecoder) valueEntry() error {
	e := &d.w.entry
	n := 0
	err := d.s.Array(func() error {
		n++
		var err error
		switch n {
		case 1:
			e.nanos, err = d.nanos()
		case 2:
			e.line, err = d.text()
			e.size += len(e.line)
		case 3:
			err = d.metadata()
		default:
			err = d.s.Fail("an entry has more than three elements")
		}
		return err
	})
	if err == nil && n < 2 {
		err = d.s.Fail("an entry has a time and a line")
	}
	return err
}

// nanos takes a string that holds nanoseconds since the epoch.
func (d *jsonDecoder) nanos() (int64, error) {
	if d.s.Next() != '"' {
		return 0, d.s.Fail("the time of an entry is a string of nanoseconds, not a number")
	}
	text, err := d.s.String()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, d.s.Fail("the time of an entry is no number of nanoseconds")
	}
	return n, nil
}

// metadata takes an object of structured metadata. Values that are no strings are kept as their JSON text.
func (d *jsonDecoder) metadata() error {
	if d.s.Next() == 'n' {
		return d.skip(5)
	}
	return d.s.Object(func(key []byte) error {
		var v jsontext.Value
		if err := d.s.Value(&v, 6); err != nil {
			return err
		}
		if v.Kind != jsontext.Null {
			d.w.entry.addMetadata(key, v.Text)
		}
		return nil
	})
}

// legacyEntry takes {"ts":…,"line":…}, whose time is RFC 3339.
func (d *jsonDecoder) legacyEntry() (refused, err error) {
	e := &d.w.entry
	e.nanos = d.w.window.Received()
	err = d.s.Object(func(key []byte) error {
		var err error
		switch string(key) {
		case "ts":
			var text []byte
			if text, err = d.text(); err != nil {
				return err
			}
			var bad error
			if e.nanos, bad = signal.ParseTime(text); bad != nil {
				refused = wire.Reject(wire.BadTime, "%s", bad.Error())
			}
		case "line":
			e.line, err = d.text()
			e.size += len(e.line)
		case "structuredMetadata":
			err = d.metadata()
		default:
			err = d.skip(5)
		}
		return err
	})
	return refused, err
}
