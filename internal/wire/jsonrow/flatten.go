package jsonrow

import (
	"errors"

	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/jsontext"
)

// Bounds of one row.
const (
	// MaxFlattenDepth is how many objects a path may lead through; objects below become JSON text.
	MaxFlattenDepth = 16
	// MaxFields is how many fields a row may have.
	MaxFields = 10_000
)

// field is one value of a row under its dotted path.
type field struct {
	name  []byte
	depth int // keys that make up the name, 1 at top level
	value jsontext.Value
}

// flatten reads text, which must be one object, into d.fields. Members that are null stay in the list.
func (d *Decoder) flatten(text []byte) error {
	d.scan.Reset(text)
	d.fields = d.fields[:0]
	if d.scan.Next() != '{' {
		return d.notAnObject(text)
	}
	err := d.members(nil, 1)
	if err == nil {
		err = d.scan.End()
	}
	if err != nil {
		return malformed(err)
	}
	if len(d.fields) == 0 {
		return wire.Reject(wire.BadValue, "the object has no fields")
	}
	return nil
}

func (d *Decoder) notAnObject(text []byte) error {
	var v jsontext.Value
	err := d.scan.Value(&v, 0)
	if err == nil {
		err = d.scan.End()
	}
	if err != nil {
		return malformed(err)
	}
	return wire.Reject(wire.Malformed, "a row is a JSON object, this is %.20q", text)
}

// malformed makes a Rejection of an error of the scanner; a Rejection stays.
func malformed(err error) error {
	if rejection, ok := errors.AsType[*wire.Rejection](err); ok {
		return rejection
	}
	return wire.Reject(wire.Malformed, "%s", err.Error())
}

// members takes the members of an object whose brace is the next byte.
func (d *Decoder) members(prefix []byte, depth int) error {
	s := &d.scan
	s.Take('{')
	if s.Take('}') {
		if depth > 1 {
			d.addEmptyObject(prefix, depth)
		}
		return nil
	}
	for more := true; more; {
		key, err := s.Key()
		if err != nil {
			return err
		}
		if err := d.member(prefix, key, depth); err != nil {
			return err
		}
		if more, err = s.More('}'); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) member(prefix, key []byte, depth int) error {
	if d.scan.Next() == '{' && depth < MaxFlattenDepth {
		path := d.scan.Join(prefix, key)
		return d.members(d.scan.Join(path, []byte{'.'}), depth+1)
	}
	if len(d.fields) == MaxFields {
		return wire.Reject(wire.BadValue, "the row has more than %d fields", MaxFields)
	}
	if len(d.fields) < cap(d.fields) {
		d.fields = d.fields[:len(d.fields)+1]
	} else {
		d.fields = append(d.fields, field{})
	}
	f := &d.fields[len(d.fields)-1]
	f.name, f.depth = key, depth
	if len(prefix) > 0 {
		f.name = d.scan.Join(prefix, key)
	}
	return d.scan.Value(&f.value, depth)
}

// addEmptyObject adds {} under the path that prefix, with its last dot, stands for.
func (d *Decoder) addEmptyObject(prefix []byte, depth int) {
	v := jsontext.Value{Kind: jsontext.JSON, Text: []byte("{}")}
	d.fields = append(d.fields, field{name: prefix[:len(prefix)-1], depth: depth - 1, value: v})
}
