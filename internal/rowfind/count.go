package rowfind

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/millstream/millstream/internal/columnar/parquetfile"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
)

// Bounds on what is counted here. What is beyond them has so many combinations that the engine's own way is as good.
const (
	maxRepeatedBytes = 4       // bytes a row, compressed, of a text column whose values are repeated
	maxCombinations  = 1 << 16 // of one row group, whether they occur or not
	maxBuckets       = 4096    // steps of time in one row group
)

// Counted is how many rows there are of each combination of values.
type Counted struct {
	// Record has a row for each combination: the time, cut down to a multiple of Query.Unit, 0 without a unit; the fields of the query
	// under their names; sqlplan.CountColumn. It is nil without rows; the caller releases it.
	Record arrow.RecordBatch
	// Left are the files, by their place in Query.Files, of which no row is counted and which the engine must read.
	Left []int
}

// Count counts the rows within the time of the query by the values of its fields, and by steps of time of its Unit. Conditions leave out
// row groups, not rows. It is not ok when there are more combinations than Query.MaxRows, or when values are repeated too seldom for
// counting to pay.
func (s *Search) Count(ctx context.Context) (_ *Counted, ok bool, err error) {
	out := &Counted{}
	for _, f := range s.files {
		if f.left {
			out.Left = append(out.Left, f.index)
		}
	}
	var todo []task
	for _, t := range s.todo {
		if !t.file.left {
			todo = append(todo, t)
		}
	}
	s.todo = nil
	var many atomic.Bool
	err = s.each(ctx, todo, func(w *worker, t *task) (bool, error) {
		fits, err := w.tally(t)
		if err != nil {
			return true, fmt.Errorf("%s: %w", t.file.Path, err)
		}
		if !fits {
			many.Store(true)
		}
		return !fits, nil
	})
	if err != nil || many.Load() {
		return nil, false, err
	}
	all := make(map[string]int64)
	for _, w := range s.workers {
		for key, n := range w.counts {
			all[key] += n
		}
	}
	for i := range todo {
		t := &todo[i]
		t.file.stats.RowGroups++
		t.file.stats.Rows += int64(t.file.footer.Rows(t.group))
		for _, c := range t.file.fields {
			if c >= 0 {
				t.file.stats.Bytes += t.file.footer.ChunkBytes(t.group, c)
			}
		}
	}
	if len(all) > s.query.MaxRows {
		return nil, false, nil
	}
	out.Record = s.query.countRecord(all)
	return out, true, nil
}

// A dimension is one of the values that rows of a row group are counted by: each row has one of size codes.
type dimension struct {
	size  int
	codes []uint32                          // nil: all rows have code 0
	key   func(dst []byte, code int) []byte // appends the value that a code means
}

// tally counts the rows of a row group. It is false when they have too many combinations.
func (w *worker) tally(t *task) (bool, error) {
	defer w.forget()
	rows := t.file.footer.Rows(t.group)
	for _, c := range t.file.fields {
		if c >= 0 && isText(t.file.footer.Columns()[c].Kind) && t.file.footer.ChunkBytes(t.group, c) > int64(maxRepeatedBytes*rows)+1024 {
			return false, nil
		}
	}
	h := &hit{file: t.file, group: t.group, limit: rows}
	dims := make([]dimension, 0, len(t.file.fields)+1)
	combinations := 1
	add := func(d dimension, ok bool, err error) (bool, error) {
		if err != nil || !ok {
			return false, err
		}
		dims = append(dims, d)
		combinations *= max(d.size, 1)
		return combinations <= maxCombinations, nil
	}
	within, err := w.within(t, h)
	if err != nil {
		return false, err
	}
	if w.query.Unit > 0 {
		d, ok, err := w.steps(t, h)
		if ok, err := add(d, ok, err); !ok || err != nil {
			return false, err
		}
	}
	for _, c := range t.file.fields {
		d, ok, err := w.values(h, c)
		if ok, err := add(d, ok, err); !ok || err != nil {
			return false, err
		}
	}
	w.add(rows, dims, combinations, within)
	return len(w.counts) <= w.query.MaxRows, nil
}

// within returns which rows lie within the time of the query, nil for all.
func (w *worker) within(t *task, h *hit) ([]bool, error) {
	q := w.query
	if t.low >= q.Start && t.high < q.End {
		return nil, nil
	}
	v, err := w.column(h, t.file.time)
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(v.Ints))
	for row, at := range v.Ints {
		out[row] = at >= q.Start && at < q.End
	}
	return out, nil
}

// steps is the dimension of time.
func (w *worker) steps(t *task, h *hit) (d dimension, ok bool, err error) {
	unit := w.query.Unit
	first, last := floorDiv(t.low, unit), floorDiv(t.high, unit)
	if last-first >= maxBuckets {
		return d, false, nil
	}
	d.size = int(last-first) + 1
	d.key = func(dst []byte, code int) []byte {
		return binary.LittleEndian.AppendUint64(dst, uint64((first+int64(code))*unit))
	}
	if d.size == 1 {
		return d, true, nil
	}
	v, err := w.column(h, t.file.time)
	if err != nil {
		return d, false, err
	}
	d.codes = w.codes(len(v.Ints))
	begin, end, code := int64(0), int64(0), uint32(0) // of the step at hand: rows of one step mostly stand together
	for row, at := range v.Ints {
		if at < begin || at >= end {
			n := floorDiv(at, unit)
			if n < first || n > last {
				return d, false, nil // the statistics are not those of the column: the engine will see
			}
			begin, end, code = n*unit, (n+1)*unit, uint32(n-first)
		}
		d.codes[row] = code
	}
	return d, true, nil
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// values is the dimension of a column, -1 for one that the file does not have: all rows are NULL there.
func (w *worker) values(h *hit, column int) (d dimension, ok bool, err error) {
	if column < 0 {
		return dimension{size: 1, key: func(dst []byte, _ int) []byte { return append(dst, 0) }}, true, nil
	}
	v, err := w.column(h, column)
	if err != nil {
		return d, false, err
	}
	kind := h.file.footer.Columns()[column].Kind
	if isText(kind) {
		d, ok = w.textValues(v)
		return d, ok, nil
	}
	return w.numberValues(v, kind), true, nil
}

func isText(k parquetfile.Kind) bool { return k == parquetfile.Text || k == parquetfile.JSON }

// textValues codes texts by their dictionary. The last code is NULL.
func (w *worker) textValues(v *parquetfile.Values) (d dimension, ok bool) {
	t := &v.Texts
	if t.Index == nil {
		if allNull(v) {
			return dimension{size: 1, key: func(dst []byte, _ int) []byte { return append(dst, 0) }}, true
		}
		return d, false
	}
	null := len(t.Starts)
	d = dimension{size: null + 1, codes: t.Index, key: func(dst []byte, code int) []byte {
		if code == null {
			return append(dst, 0)
		}
		text := t.Entry(code)
		dst = binary.LittleEndian.AppendUint32(append(dst, 1), uint32(len(text)))
		return append(dst, text...)
	}}
	if v.Present != nil {
		d.codes = w.codes(v.Rows)
		for row, at := range t.Index {
			if d.codes[row] = at; !v.Present[row] {
				d.codes[row] = uint32(null)
			}
		}
	}
	return d, true
}

func allNull(v *parquetfile.Values) bool {
	for row := range v.Rows {
		if v.Has(row) {
			return false
		}
	}
	return true
}

// numberValues codes numbers and truth values in the order in which they come.
func (w *worker) numberValues(v *parquetfile.Values, kind parquetfile.Kind) dimension {
	codes := w.codes(v.Rows)
	known := make(map[uint64]uint32)
	var bits []uint64
	null := -1
	var last uint64
	var lastCode uint32
	for row := range v.Rows {
		if !v.Has(row) {
			if null < 0 {
				null = len(bits)
				bits = append(bits, 0)
			}
			codes[row] = uint32(null)
			continue
		}
		b := bitsOf(v, kind, row)
		if len(known) > 0 && b == last {
			codes[row] = lastCode
			continue
		}
		code, ok := known[b]
		if !ok {
			code = uint32(len(bits))
			known[b], bits = code, append(bits, b)
		}
		codes[row], last, lastCode = code, b, code
	}
	return dimension{size: len(bits), codes: codes, key: func(dst []byte, code int) []byte {
		if code == null {
			return append(dst, 0)
		}
		return binary.LittleEndian.AppendUint64(append(dst, 1), bits[code])
	}}
}

func bitsOf(v *parquetfile.Values, kind parquetfile.Kind, row int) uint64 {
	switch {
	case kind == parquetfile.Float64:
		return math.Float64bits(v.Floats[row])
	case kind == parquetfile.Bool && v.Bools[row]:
		return 1
	case kind == parquetfile.Bool:
		return 0
	default:
		return uint64(v.Ints[row])
	}
}

// codes returns memory for the codes of so many rows, valid until the row group is done.
func (w *worker) codes(rows int) []uint32 {
	if w.codesUsed == len(w.codeMemory) {
		w.codeMemory = append(w.codeMemory, nil)
	}
	m := &w.codeMemory[w.codesUsed]
	w.codesUsed++
	if cap(*m) < rows {
		*m = make([]uint32, rows)
	}
	return (*m)[:rows]
}

// add counts the rows by the codes of their dimensions.
func (w *worker) add(rows int, dims []dimension, combinations int, within []bool) {
	if cap(w.cells) < combinations {
		w.cells = make([]uint32, combinations)
	}
	cells := w.cells[:combinations]
	clear(cells)
	at := w.combine(rows, dims)
	switch {
	case at == nil && within == nil:
		cells[0] = uint32(rows)
	case within == nil:
		for _, c := range at {
			cells[c]++
		}
	default:
		for row, in := range within {
			if in && at == nil {
				cells[0]++
			} else if in {
				cells[at[row]]++
			}
		}
	}
	for c, n := range cells {
		if n == 0 {
			continue
		}
		w.key = w.key[:0]
		for _, d := range dims {
			w.key = d.key(w.key, c%d.size)
			c /= d.size
		}
		w.counts[string(w.key)] += int64(n)
	}
}

// combine returns each row's combination: the codes as digits, the first dimension's the lowest. It is nil when all rows have the first.
func (w *worker) combine(rows int, dims []dimension) []uint32 {
	var out []uint32
	own := false
	scale := uint32(1)
	for _, d := range dims {
		switch {
		case d.codes == nil:
		case out == nil && scale == 1:
			out = d.codes
		default:
			if !own {
				sum := w.codes(rows)
				if out == nil {
					clear(sum)
				} else {
					copy(sum, out)
				}
				out, own = sum, true
			}
			for row, code := range d.codes {
				out[row] += code * scale
			}
		}
		scale *= uint32(d.size)
	}
	return out
}

// countRecord makes the record of all counts by their keys.
func (q *Query) countRecord(counts map[string]int64) arrow.RecordBatch {
	if len(counts) == 0 {
		return nil
	}
	fields := []arrow.Field{{Name: signal.TimeColumn, Type: signal.TimestampType}}
	for _, f := range q.Fields {
		fields = append(fields, f.Type.Field(f.Name))
	}
	fields = append(fields, signal.Int64.Field(sqlplan.CountColumn))
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	b.Reserve(len(counts))
	for key, n := range counts {
		rest := []byte(key)
		var at int64
		if q.Unit > 0 {
			at, rest = int64(binary.LittleEndian.Uint64(rest)), rest[8:]
		}
		b.Field(0).(*array.TimestampBuilder).Append(arrow.Timestamp(at)) //nolint:forcetypeassert // made above
		for i := range q.Fields {
			rest = appendKey(b.Field(1+i), rest)
		}
		b.Field(1 + len(q.Fields)).(*array.Int64Builder).Append(n) //nolint:forcetypeassert // made above
	}
	return b.NewRecordBatch()
}

// appendKey appends the value at the front of a key and returns what is behind it.
func appendKey(to array.Builder, key []byte) (rest []byte) {
	present, key := key[0] == 1, key[1:]
	if !present {
		to.AppendNull()
		return key
	}
	if b, ok := to.(*array.StringBuilder); ok {
		end := 4 + int(binary.LittleEndian.Uint32(key))
		b.BinaryBuilder.Append(key[4:end])
		return key[end:]
	}
	bits := binary.LittleEndian.Uint64(key)
	switch b := to.(type) {
	case *array.BooleanBuilder:
		b.Append(bits == 1)
	case *array.Int64Builder:
		b.Append(int64(bits))
	case *array.Float64Builder:
		b.Append(math.Float64frombits(bits))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(bits))
	}
	return key[8:]
}
