package parquetfile

import (
	"bytes"
	"math"
	"slices"
)

// Values are the values of one column in consecutive rows: the slice that fits the column's kind, an element a row. A row without a
// value has a zero there. Decoder fills Values and uses their memory again.
type Values struct {
	Rows   int
	Ints   []int64 // Int16, Int64, Timestamp
	Floats []float64
	Bools  []bool
	Texts  Texts // Text, JSON
	// Present tells, a row an element, whether the row has a value. Nil means that every row has one.
	Present []bool

	present []bool // memory of Present
	index   []uint32
}

// Has reports whether a row has a value.
func (v *Values) Has(row int) bool { return len(v.Present) == 0 || v.Present[row] }

// Texts are texts that lie in one piece of memory.
type Texts struct {
	// Index is the place of each row's text in Starts and Ends, which are a dictionary then. It is nil when row i has text i.
	Index []uint32
	// Starts and Ends bound the texts in Bytes, the end exclusive.
	Starts, Ends []uint32
	Bytes        []byte
}

// Row returns the text of a row, empty when the row has no value. The bytes belong to the Values.
func (t *Texts) Row(row int) []byte {
	if t.Index != nil {
		row = int(t.Index[row])
		if row >= len(t.Starts) {
			return nil // rows without a value only
		}
	}
	return t.Bytes[t.Starts[row]:t.Ends[row]]
}

// Entry returns an entry of the dictionary, or a row's text where there is none.
func (t *Texts) Entry(i int) []byte { return t.Bytes[t.Starts[i]:t.Ends[i]] }

// Runs appends the runs of equal texts to dst; Present is not looked at.
func (v *Values) Runs(dst []Run) []Run {
	t := &v.Texts
	for row := range v.Rows {
		if row > 0 && t.same(row-1, row) {
			dst[len(dst)-1].End = row + 1
			continue
		}
		dst = append(dst, Run{Text: t.Row(row), End: row + 1})
	}
	return dst
}

func (t *Texts) same(a, b int) bool {
	if t.Index != nil {
		return t.Index[a] == t.Index[b]
	}
	return bytes.Equal(t.Row(a), t.Row(b))
}

// Run is consecutive rows, from the end of the run before to End, exclusive, with one text. The bytes belong to the Values.
type Run struct {
	Text []byte
	End  int
}

// reset makes v ready for rows of a kind.
func (v *Values) reset(kind Kind, rows int) {
	v.Rows, v.Present = rows, nil
	v.Ints, v.Floats, v.Bools = v.Ints[:0], v.Floats[:0], v.Bools[:0]
	t := &v.Texts
	t.Index, t.Starts, t.Ends, t.Bytes = nil, t.Starts[:0], t.Ends[:0], t.Bytes[:0]
	switch kind {
	case Bool:
		v.Bools = fit(v.Bools, rows)
	case Float64:
		v.Floats = fit(v.Floats, rows)
	case Text, JSON:
	default:
		v.Ints = fit(v.Ints, rows)
	}
}

// fit returns a slice of n elements, in the memory of s if that suffices.
func fit[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// havePresent makes Present, in which the rows before row have values.
func (v *Values) havePresent(row int) {
	if v.Present != nil {
		return
	}
	v.present = fit(v.present, v.Rows)
	v.Present = v.present
	for i := range row {
		v.Present[i] = true
	}
}

// count returns how many of some rows have a value.
func (v *Values) count(row, rows int) int {
	if v.Present == nil {
		return rows
	}
	n := 0
	for _, p := range v.Present[row : row+rows] {
		if p {
			n++
		}
	}
	return n
}

// setNumber sets a row's number from the bits of its plain form.
func (v *Values) setNumber(row int, bits uint64) {
	if len(v.Floats) > 0 {
		v.Floats[row] = math.Float64frombits(bits)
	} else {
		v.Ints[row] = int64(bits)
	}
}

// spread moves the values of so many rows, of which the first have are there, to the rows that have one.
func (v *Values) spread(row, rows, have int) {
	present := v.Present[row : row+rows]
	switch t := &v.Texts; {
	case len(v.Ints) > 0:
		spread(v.Ints[row:], present, have)
	case len(v.Floats) > 0:
		spread(v.Floats[row:], present, have)
	case len(v.Bools) > 0:
		spread(v.Bools[row:], present, have)
	case t.Index != nil:
		spread(t.Index[row:], present, have)
	default:
		t.Starts, t.Ends = extend(t.Starts, row+rows), extend(t.Ends, row+rows)
		spread(t.Starts[row:], present, have)
		spread(t.Ends[row:], present, have)
	}
}

// extend lengthens s to n elements, which may hold anything.
func extend[T any](s []T, n int) []T { return slices.Grow(s, n-len(s))[:n] }

// spread moves the values at the front of s to the rows that have one, and zeros to the others.
func spread[T any](s []T, present []bool, have int) {
	var zero T
	for row := len(present) - 1; row >= 0; row-- { // from behind, so that nothing is overwritten before it moves
		if present[row] {
			have--
			s[row] = s[have]
		} else {
			s[row] = zero
		}
	}
}
