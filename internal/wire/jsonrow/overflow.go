package jsonrow

import (
	"strconv"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire/jsontext"
)

// overflow builds the JSON object of the fields of one row that found no column.
type overflow struct {
	text  []byte
	names map[string]struct{}
}

func (o *overflow) reset() {
	if len(o.text) > 0 {
		o.text = o.text[:0]
		clear(o.names)
	}
}

// add adds a field. A name that is there already gets "__2", "__3" behind it, so no value hides another.
func (o *overflow) add(name []byte, v *jsontext.Value) {
	if len(o.text) == 0 {
		o.text = append(o.text, '{')
	} else {
		o.text = append(o.text, ',')
	}
	o.text = signal.AppendJSONString(o.text, o.unique(name))
	o.text = append(o.text, ':')
	o.text = appendValue(o.text, v)
}

func (o *overflow) unique(name []byte) []byte {
	if o.names == nil {
		o.names = make(map[string]struct{})
	}
	unique := string(name)
	for n := 2; ; n++ {
		if _, taken := o.names[unique]; !taken {
			o.names[unique] = struct{}{}
			return []byte(unique)
		}
		unique = string(name) + "__" + strconv.Itoa(n)
	}
}

// object returns the object, nil when nothing was added.
func (o *overflow) object() []byte {
	if len(o.text) == 0 {
		return nil
	}
	o.text = append(o.text, '}')
	return o.text
}

// appendValue appends a value as JSON: numbers as they were sent.
func appendValue(dst []byte, v *jsontext.Value) []byte {
	if v.Kind == jsontext.String {
		return signal.AppendJSONString(dst, v.Text)
	}
	return append(dst, v.Text...)
}
