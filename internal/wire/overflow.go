package wire

import (
	"strconv"

	"github.com/millstream/millstream/internal/signal"
)

// Overflow builds the value of signal.OverflowColumn: one JSON object of the fields of a row that found no column. The zero value
// is empty; Reset keeps its memory.
type Overflow struct {
	text  []byte
	names map[string]struct{}
}

// Reset empties the object.
func (o *Overflow) Reset() {
	if len(o.text) > 0 {
		o.text = o.text[:0]
		clear(o.names)
	}
}

// AddText adds a string under a name. A name that is there already gets "__2", "__3" behind it, so no value hides another.
func (o *Overflow) AddText(name, value []byte) {
	o.addName(name)
	o.text = signal.AppendJSONString(o.text, value)
}

// AddJSON adds a value that is JSON text. See AddText for names.
func (o *Overflow) AddJSON(name, value []byte) {
	o.addName(name)
	o.text = append(o.text, value...)
}

// Write puts the object, if anything was added, into the open row of b.
func (o *Overflow) Write(b *signal.Builder) {
	if len(o.text) > 0 {
		o.text = append(o.text, '}')
		b.SetJSON(b.OwnColumn(signal.OverflowColumn), o.text)
	}
}

func (o *Overflow) addName(name []byte) {
	if len(o.text) == 0 {
		o.text = append(o.text, '{')
	} else {
		o.text = append(o.text, ',')
	}
	if o.names == nil {
		o.names = make(map[string]struct{})
	}
	unique := string(name)
	for n := 2; ; n++ {
		if _, taken := o.names[unique]; !taken {
			break
		}
		unique = string(name) + "__" + strconv.Itoa(n)
	}
	o.names[unique] = struct{}{}
	o.text = signal.AppendJSONString(o.text, []byte(unique))
	o.text = append(o.text, ':')
}
