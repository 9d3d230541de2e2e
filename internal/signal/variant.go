package signal

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// variantSize is how much a variant of the last record held, the guess for the next.
type variantSize struct{ rows, text int }

// spareRows and spareText are what a guess gets on top, so that a slightly larger record does not grow its memory.
const (
	spareRows = 64
	spareText = 4096
)

// newVariant returns an empty variant with memory for a guess; the zero guess takes none.
func newVariant(t Type, guess variantSize) *variant {
	x := &variant{typ: t}
	if guess.rows == 0 {
		return x
	}
	rows := guess.rows + guess.rows/16 + spareRows
	switch t {
	case Bool:
		x.bits = make([]byte, 0, rows/8+1)
	case Int64, Timestamp:
		x.words = make([]int64, 0, rows)
	case Float64:
		x.floats = make([]float64, 0, rows)
	case String, JSON:
		x.offsets = make([]int32, 0, rows+1)
		x.text = make([]byte, 0, guess.text+guess.text/16+spareText)
	}
	return x
}

// variant holds the values of one type of a column, rows 0 to n-1. Its slices have Arrow's layout and become the arrays' memory.
type variant struct {
	typ     Type
	n       int
	nulls   int
	valid   []byte // bit a row, least significant first; empty while there is no null
	words   []int64
	floats  []float64
	bits    []byte
	offsets []int32 // n+1 of them once a text was written
	text    []byte
}

func (x *variant) appendInt64(v int64) {
	x.markValid()
	x.words = append(x.words, v)
}

func (x *variant) appendFloat64(v float64) {
	x.markValid()
	x.floats = append(x.floats, v)
}

func (x *variant) appendBool(v bool) {
	if x.n&7 == 0 {
		x.bits = append(x.bits, 0)
	}
	if v {
		x.bits[x.n>>3] |= 1 << (x.n & 7)
	}
	x.markValid()
}

func (x *variant) appendText(v []byte) {
	if len(x.offsets) == 0 {
		x.offsets = append(x.offsets, 0)
	}
	x.markValid()
	x.text = append(x.text, v...)
	x.offsets = append(x.offsets, int32(len(x.text)))
}

func (x *variant) markValid() {
	if len(x.valid) > 0 {
		if x.n&7 == 0 {
			x.valid = append(x.valid, 0)
		}
		x.valid[x.n>>3] |= 1 << (x.n & 7)
	}
	x.n++
}

// padNulls appends nulls up to row rows-1.
func (x *variant) padNulls(rows int) {
	if x.n >= rows {
		return
	}
	if len(x.valid) == 0 {
		x.valid = onesBitmap(x.n, rows)
	}
	for len(x.valid) < (rows+7)/8 {
		x.valid = append(x.valid, 0)
	}
	missing := rows - x.n
	switch x.typ {
	case Bool:
		for len(x.bits) < (rows+7)/8 {
			x.bits = append(x.bits, 0)
		}
	case Int64, Timestamp:
		x.words = append(x.words, make([]int64, missing)...)
	case Float64:
		x.floats = append(x.floats, make([]float64, missing)...)
	case String, JSON:
		if len(x.offsets) == 0 {
			x.offsets = append(x.offsets, 0)
		}
		end := x.offsets[len(x.offsets)-1]
		for range missing {
			x.offsets = append(x.offsets, end)
		}
	}
	x.n, x.nulls = rows, x.nulls+missing
}

// onesBitmap returns a bitmap of n ones with room for rows bits, at least one byte long.
func onesBitmap(n, rows int) []byte {
	m := make([]byte, (n+7)/8, max(1, (rows+7)/8))
	for i := range m {
		m[i] = 0xff
	}
	if n&7 != 0 {
		m[len(m)-1] = 1<<(n&7) - 1
	}
	return m
}

// truncate takes back the value of row rows if there is one.
func (x *variant) truncate(rows int) {
	if x.n <= rows {
		return
	}
	x.n = rows
	if len(x.valid) > 0 {
		x.valid = x.valid[:(rows+7)/8]
		clearTail(x.valid, rows)
	}
	switch x.typ {
	case Bool:
		x.bits = x.bits[:(rows+7)/8]
		clearTail(x.bits, rows)
	case Int64, Timestamp:
		x.words = x.words[:rows]
	case Float64:
		x.floats = x.floats[:rows]
	case String, JSON:
		x.offsets = x.offsets[:rows+1]
		x.text = x.text[:x.offsets[rows]]
	}
}

func clearTail(bitmap []byte, bits int) {
	if bits&7 != 0 {
		bitmap[len(bitmap)-1] &= 1<<(bits&7) - 1
	}
}

func (x *variant) array() arrow.Array {
	x.valid, x.bits = fitted(x.valid), fitted(x.bits)
	x.words, x.floats = fitted(x.words), fitted(x.floats)
	x.offsets, x.text = fitted(x.offsets), fitted(x.text)
	switch x.typ {
	case Bool:
		return fixedArray(x.typ.ArrowType(), x.n, x.valid, x.nulls, x.bits)
	case Float64:
		return fixedArray(x.typ.ArrowType(), x.n, x.valid, x.nulls, arrow.Float64Traits.CastToBytes(x.floats))
	case Int64, Timestamp:
		return fixedArray(x.typ.ArrowType(), x.n, x.valid, x.nulls, arrow.Int64Traits.CastToBytes(x.words))
	default:
		return x.textArray()
	}
}

func (x *variant) textArray() arrow.Array {
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(x.offsets)), memory.NewBufferBytes(x.text)}
	if x.nulls > 0 {
		buffers[0] = memory.NewBufferBytes(x.valid)
	}
	data := array.NewData(x.typ.ArrowType(), x.n, buffers, nil, x.nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

// fitted returns s, copied if it takes much more memory than it needs, since a record may be held for long.
func fitted[T any](s []T) []T {
	const slack = 1024
	if cap(s)-len(s) > len(s)/4+slack {
		return append(make([]T, 0, len(s)), s...)
	}
	return s
}
