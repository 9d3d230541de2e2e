package jsonrow

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire/jsontext"
)

// MaxColumnNameBytes is the longest path that gets a column; fields of a longer one go to the overflow.
const MaxColumnNameBytes = 512

// column returns the column of a user's field, or false when the field can have none: its name is empty, too long or holds a NUL
// (which ends a name in the engine), or the batch has its number of columns already.
func (d *Decoder) column(name []byte) (signal.Ref, bool) {
	if r, ok := d.b.Find(name); ok {
		return r, true
	}
	if d.b.Columns() >= d.opts.MaxColumns || len(name) == 0 || len(name) > MaxColumnNameBytes || bytes.IndexByte(name, 0) >= 0 {
		return 0, false
	}
	return d.b.Column(name), true
}

// writeRow writes the fields as one row. own, when not nil, writes columns that are the decoder's before them, and may be called
// twice.
func (d *Decoder) writeRow(nanos int64, own func()) {
	d.b.BeginRow()
	if own != nil {
		own()
	}
	if !d.writeFields() {
		d.b.AbortRow()
		d.b.BeginRow()
		d.overflow.Reset()
		if own != nil {
			own()
		}
		d.settleFields()
	}
	d.overflow.Write(d.b)
	d.b.EndRow(nanos)
}

// writeFields writes the fields to the open row. It is false when two of them meet in one column.
func (d *Decoder) writeFields() bool {
	for i := range d.fields {
		f := &d.fields[i]
		if f.value.Kind == jsontext.Null {
			continue
		}
		r, ok := d.column(f.name)
		switch {
		case !ok:
			d.overflowField(f)
		case d.b.IsSet(r):
			return false
		default:
			d.set(r, &f.value)
		}
	}
	return true
}

// settleFields writes fields of which some meet in one column: the one with the fewest keys in its path keeps the column (so "a.b"
// written out wins over {"a":{"b":…}}), of equals the first; the others go to the overflow.
func (d *Decoder) settleFields() {
	order := make([]int, len(d.fields))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d.fields[a].depth, d.fields[b].depth) })
	for _, i := range order {
		f := &d.fields[i]
		if f.value.Kind == jsontext.Null {
			continue
		}
		if r, ok := d.column(f.name); ok && !d.b.IsSet(r) {
			d.set(r, &f.value)
			continue
		}
		d.overflowField(f)
	}
}

func (d *Decoder) overflowField(f *field) {
	if f.value.Kind == jsontext.String {
		d.overflow.AddText(f.name, f.value.Text)
		return
	}
	d.overflow.AddJSON(f.name, f.value.Text)
}
