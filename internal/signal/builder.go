package signal

import (
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Builder collects rows column by column and hands them over as one Arrow record. A row is written between BeginRow and EndRow
// or AbortRow. It is made for decoders: looking up a column costs one comparison when rows repeat their fields in one order.
//
// A Builder is used by one goroutine at a time and can be used again after Finish.
type Builder struct {
	times  []int64
	nanos  []int16
	sub    bool // some row has nanos
	cols   []*column
	byName map[string]Ref
	next   int   // where the row's next column is expected
	row    []Ref // columns written in the open row
	bytes  int
	sizes  map[string][typeCount + 1]variantSize // of the columns of the last record
}

// Ref names a column of one Builder until its next Finish.
type Ref int32

type column struct {
	name     string
	variants [typeCount + 1]*variant
	last     *variant // variant written in the open row, nil if none
	guess    [typeCount + 1]variantSize
	follow   Ref // the column that came after this one in the last row
}

// NewBuilder returns an empty builder.
func NewBuilder() *Builder {
	return &Builder{byName: make(map[string]Ref), sizes: make(map[string][typeCount + 1]variantSize)}
}

// Rows returns the number of finished rows.
func (b *Builder) Rows() int { return len(b.times) }

// Bytes returns about how much memory the finished rows take in Arrow form.
func (b *Builder) Bytes() int { return b.bytes + 10*len(b.times) }

// Columns returns how many columns the builder has seen since the last Finish.
func (b *Builder) Columns() int { return len(b.cols) }

// BeginRow opens a row.
func (b *Builder) BeginRow() {
	b.next = 0
	b.row = b.row[:0]
}

// Find returns the column of a user's field if the builder has it, without making it. See Column for names.
func (b *Builder) Find(name []byte) (Ref, bool) {
	if len(name) > 0 && name[0] == '_' {
		if b.next < len(b.cols) {
			if rest, ok := strings.CutPrefix(b.cols[b.next].name, UserPrefix); ok && rest == string(name) {
				return Ref(b.next), true
			}
		}
		r, ok := b.byName[UserPrefix+string(name)]
		return r, ok
	}
	if b.next < len(b.cols) && b.cols[b.next].name == string(name) {
		return Ref(b.next), true
	}
	r, ok := b.byName[string(name)]
	return r, ok
}

// Column returns the column of a user's field. A name that begins with an underscore is stored under UserPrefix; invalid UTF-8
// is replaced. The bytes of name are copied.
func (b *Builder) Column(name []byte) Ref {
	if r, ok := b.Find(name); ok {
		return r
	}
	if len(name) > 0 && name[0] == '_' {
		return b.lookup(UserPrefix + validText(name))
	}
	return b.lookup(validText(name))
}

// OwnColumn returns the column of a name of ours, such as "_labels".
func (b *Builder) OwnColumn(name string) Ref { return b.lookup(name) }

func (b *Builder) lookup(name string) Ref {
	if r, ok := b.byName[name]; ok {
		return r
	}
	r := Ref(len(b.cols))
	b.cols = append(b.cols, &column{name: name, guess: b.sizes[name], follow: r + 1})
	b.byName[name] = r
	return r
}

// Has reports whether a column is known without making it.
func (b *Builder) Has(name string) bool {
	_, ok := b.byName[name]
	return ok
}

// IsSet reports whether the open row has a value in the column already.
func (b *Builder) IsSet(r Ref) bool { return b.cols[r].last != nil }

// SetBool writes a value of the open row. A column takes one value a row: IsSet must be false. So for all Set methods.
func (b *Builder) SetBool(r Ref, v bool) {
	x := b.open(r, Bool)
	x.appendBool(v)
	b.bytes++
}

// SetInt64 writes a value of the open row.
func (b *Builder) SetInt64(r Ref, v int64) {
	b.open(r, Int64).appendInt64(v)
	b.bytes += 8
}

// SetFloat64 writes a value of the open row.
func (b *Builder) SetFloat64(r Ref, v float64) {
	b.open(r, Float64).appendFloat64(v)
	b.bytes += 8
}

// SetTimestamp writes a value of the open row, in microseconds since the epoch.
func (b *Builder) SetTimestamp(r Ref, micros int64) {
	b.open(r, Timestamp).appendInt64(micros)
	b.bytes += 8
}

// SetString writes a value of the open row. Invalid UTF-8 is replaced by U+FFFD, a byte a rune. The bytes of v are copied.
func (b *Builder) SetString(r Ref, v []byte) {
	b.setText(r, String, v)
}

// SetJSON writes one JSON value as text. The bytes of v are copied.
func (b *Builder) SetJSON(r Ref, v []byte) {
	b.setText(r, JSON, v)
}

func (b *Builder) setText(r Ref, t Type, v []byte) {
	x := b.open(r, t)
	if utf8.Valid(v) {
		x.appendText(v)
	} else {
		x.appendText([]byte(validText(v)))
	}
	b.bytes += len(v) + 4
}

// open returns the variant that takes the value and notes the column as written.
func (b *Builder) open(r Ref, t Type) *variant {
	c := b.cols[r]
	x := c.variants[t]
	if x == nil {
		x = newVariant(t, c.guess[t])
		c.variants[t] = x
	}
	if x.n < len(b.times) {
		x.padNulls(len(b.times))
	}
	c.last = x
	if n := len(b.row); n > 0 {
		b.cols[b.row[n-1]].follow = r
	}
	b.row = append(b.row, r)
	b.next = int(c.follow)
	return x
}

// EndRow closes the row with its event time in nanoseconds since the epoch.
func (b *Builder) EndRow(nanos int64) {
	micros, rest := floorDiv(nanos, 1000)
	b.times = append(b.times, micros)
	b.nanos = append(b.nanos, int16(rest))
	if rest != 0 {
		b.sub = true
	}
	for _, r := range b.row {
		b.cols[r].last = nil
	}
	b.row = b.row[:0]
}

// AbortRow takes back what was written since BeginRow. Columns seen first in that row stay known, without values.
func (b *Builder) AbortRow() {
	for _, r := range b.row {
		c := b.cols[r]
		c.last.truncate(len(b.times))
		c.last = nil
	}
	b.row = b.row[:0]
}

// Finish returns the rows as a record that the caller releases, or nil when there are none, and empties the builder. Columns
// without a value are left out.
func (b *Builder) Finish() arrow.RecordBatch {
	rows := len(b.times)
	if rows == 0 {
		b.reset()
		return nil
	}
	fields := []arrow.Field{{Name: TimeColumn, Type: TimestampType}}
	arrays := []arrow.Array{b.timeArray(rows)}
	if b.sub {
		fields = append(fields, arrow.Field{Name: NanosColumn, Type: arrow.PrimitiveTypes.Int16})
		arrays = append(arrays, fixedArray(arrow.PrimitiveTypes.Int16, rows, nil, 0, arrow.Int16Traits.CastToBytes(fitted(b.nanos))))
	}
	for _, c := range b.cols {
		for _, x := range c.variants {
			if x == nil || x.n == x.nulls {
				continue
			}
			x.padNulls(rows)
			fields = append(fields, x.typ.Field(c.name))
			arrays = append(arrays, x.array())
		}
	}
	rec := array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(rows))
	for _, a := range arrays {
		a.Release()
	}
	b.reset()
	return rec
}

func (b *Builder) timeArray(rows int) arrow.Array {
	return fixedArray(TimestampType, rows, nil, 0, arrow.Int64Traits.CastToBytes(fitted(b.times)))
}

// reset forgets everything but the sizes, since the record took the memory.
func (b *Builder) reset() {
	n := len(b.times)
	clear(b.sizes)
	for _, c := range b.cols {
		var sizes [typeCount + 1]variantSize
		for t, x := range c.variants {
			if x != nil {
				sizes[t] = variantSize{rows: x.n, text: len(x.text)}
			}
		}
		b.sizes[c.name] = sizes
	}
	b.times, b.nanos = make([]int64, 0, n), make([]int16, 0, n)
	b.sub, b.bytes, b.next = false, 0, 0
	b.cols = b.cols[:0]
	b.row = b.row[:0]
	clear(b.byName)
}

func fixedArray(t arrow.DataType, n int, valid []byte, nulls int, values []byte) arrow.Array {
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(values)}
	if nulls > 0 {
		buffers[0] = memory.NewBufferBytes(valid)
	}
	data := array.NewData(t, n, buffers, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// validText returns s with each invalid byte replaced by U+FFFD.
func validText(s []byte) string {
	if utf8.Valid(s) {
		return string(s)
	}
	out := make([]rune, 0, len(s))
	for len(s) > 0 {
		r, n := utf8.DecodeRune(s)
		out = append(out, r)
		s = s[n:]
	}
	return string(out)
}

func floorDiv(a, b int64) (quotient, rest int64) {
	quotient, rest = a/b, a%b
	if rest < 0 {
		quotient, rest = quotient-1, rest+b
	}
	return quotient, rest
}
