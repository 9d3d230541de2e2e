package duck

import (
	"errors"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/millstream/millstream/internal/fault"
)

// stringT is DuckDB's duckdb_string_t: texts of up to 12 bytes lie inside, longer ones behind a pointer after a prefix of 4 bytes.
type stringT struct {
	length uint32
	rest   [12]byte
}

const inlineBytes = 12

// bytes returns the text. It aliases s or the vector's heap.
func (s *stringT) bytes() []byte {
	if s.length <= inlineBytes {
		return s.rest[:s.length]
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&s.rest[4])), s.length)
}

// listEntry is DuckDB's duckdb_list_entry.
type listEntry struct{ offset, length uint64 }

// values returns the first n values of a vector's data.
func values[T any](vec bindings.Vector, n int) []T {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(bindings.VectorGetData(vec)), n)
}

// validity copies the validity of the first n values; DuckDB and Arrow agree on bit order and on 1 being valid. A nil bitmap means that
// all are valid.
func validity(vec bindings.Vector, n int) (bitmap *memory.Buffer, nulls int) {
	mask := bindings.VectorGetValidity(vec)
	if mask == nil || n == 0 {
		return nil, 0
	}
	bits := make([]byte, (n+7)/8)
	copy(bits, unsafe.Slice((*byte)(mask), len(bits)))
	nulls = n - bitutil.CountSetBits(bits, 0, n)
	if nulls == 0 {
		return nil, 0
	}
	return memory.NewBufferBytes(bits), nulls
}

func isValid(bitmap *memory.Buffer, i int) bool {
	return bitmap == nil || bitutil.BitIsSet(bitmap.Bytes(), i)
}

// convert copies the first n values of vec. The caller releases the data.
func (c *column) convert(vec bindings.Vector, n int) (arrow.ArrayData, error) {
	if c.id == bindings.TypeSQLNull {
		return array.NewData(arrow.Null, n, []*memory.Buffer{nil}, nil, n, 0), nil
	}
	bitmap, nulls := validity(vec, n)
	data := func(children []arrow.ArrayData, buffers ...*memory.Buffer) arrow.ArrayData {
		return array.NewData(c.typ, n, append([]*memory.Buffer{bitmap}, buffers...), children, nulls, 0)
	}
	switch c.id {
	case bindings.TypeBoolean:
		return data(nil, bools(values[bool](vec, n))), nil
	case bindings.TypeVarchar, bindings.TypeBlob:
		offsets, text, err := texts(values[stringT](vec, n), bitmap)
		return data(nil, offsets, text), err
	case bindings.TypeDecimal:
		return data(nil, c.decimals(vec, n)), nil
	case bindings.TypeStruct:
		children, err := c.convertChildren(func(i int) bindings.Vector { return bindings.StructVectorGetChild(vec, bindings.IdxT(i)) }, n)
		return data(children), err
	case bindings.TypeList, bindings.TypeMap:
		return c.convertList(vec, n, bitmap, data)
	case bindings.TypeArray:
		child, err := c.children[0].convert(bindings.ArrayVectorGetChild(vec), n*c.size)
		if err != nil {
			return nil, err
		}
		offsets := make([]int32, n+1)
		for i := range offsets {
			offsets[i] = int32(i * c.size)
		}
		return data([]arrow.ArrayData{child}, int32Buffer(offsets)), nil
	}
	if c.typ.ID() == arrow.STRING {
		offsets, text, err := c.format(vec, n, bitmap)
		return data(nil, offsets, text), err
	}
	raw := make([]byte, n*c.width)
	copy(raw, values[byte](vec, n*c.width))
	return data(nil, memory.NewBufferBytes(raw)), nil
}

func (c *column) convertChildren(vec func(i int) bindings.Vector, n int) ([]arrow.ArrayData, error) {
	out := make([]arrow.ArrayData, len(c.children))
	for i := range c.children {
		d, err := c.children[i].convert(vec(i), n)
		if err != nil {
			return nil, err
		}
		out[i] = d
	}
	return out, nil
}

// convertList converts a list or map vector. Entries may lie in any order and overlap in DuckDB, and the child may be a dictionary vector,
// whose layout the C interface does not show; so the elements are gathered first, in order, into a flat vector.
func (c *column) convertList(
	vec bindings.Vector, n int, bitmap *memory.Buffer, data func([]arrow.ArrayData, ...*memory.Buffer) arrow.ArrayData,
) (arrow.ArrayData, error) {
	entries := values[listEntry](vec, n)
	offsets, total := make([]int32, n+1), uint64(0)
	for i, e := range entries {
		if isValid(bitmap, i) {
			total += e.length
		}
		if total > math.MaxInt32 {
			return nil, fault.New(fault.Invalid, "lists of one chunk have more than %d elements", math.MaxInt32)
		}
		offsets[i+1] = int32(total)
	}
	elements, free := gather(bindings.ListVectorGetChild(vec), entries, bitmap, int(total))
	defer free()
	count := int(total)
	if c.id == bindings.TypeList {
		child, err := c.children[0].convert(elements, count)
		if err != nil {
			return nil, err
		}
		return data([]arrow.ArrayData{child}, int32Buffer(offsets)), nil
	}
	kids, err := c.convertChildren(func(i int) bindings.Vector { return bindings.StructVectorGetChild(elements, bindings.IdxT(i)) }, count)
	if err != nil {
		return nil, err
	}
	entry := array.NewData(c.typ.(*arrow.MapType).Elem(), count, []*memory.Buffer{nil}, kids, 0, 0)
	return data([]arrow.ArrayData{entry}, int32Buffer(offsets)), nil
}

// gather copies the elements that valid entries name, in order, into a flat vector of their own, which free destroys.
func gather(child bindings.Vector, entries []listEntry, bitmap *memory.Buffer, count int) (vec bindings.Vector, free func()) {
	t := bindings.VectorGetColumnType(child)
	defer bindings.DestroyLogicalType(&t)
	vec = bindings.CreateVector(t, bindings.IdxT(max(count, 1)))
	sel := bindings.CreateSelectionVector(bindings.IdxT(max(count, 1)))
	defer bindings.DestroySelectionVector(&sel)
	picks := unsafe.Slice((*uint32)(unsafe.Pointer(bindings.SelectionVectorGetDataPtr(sel))), max(count, 1))
	at := 0
	for i, e := range entries {
		if !isValid(bitmap, i) {
			continue
		}
		for k := range e.length {
			picks[at] = uint32(e.offset + k)
			at++
		}
	}
	if count > 0 {
		bindings.VectorCopySel(child, vec, sel, bindings.IdxT(count), 0, 0)
	}
	return vec, func() { bindings.DestroyVector(&vec) }
}

func bools(in []bool) *memory.Buffer {
	out := make([]byte, (len(in)+7)/8)
	for i, v := range in {
		if v {
			out[i/8] |= 1 << (i % 8)
		}
	}
	return memory.NewBufferBytes(out)
}

func int32Buffer(v []int32) *memory.Buffer {
	return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(v))
}

// texts copies strings or blobs into one Arrow buffer. Slots of nulls hold no text.
func texts(in []stringT, bitmap *memory.Buffer) (offsets, text *memory.Buffer, err error) {
	ends, total := make([]int32, len(in)+1), 0
	for i := range in {
		if isValid(bitmap, i) {
			total += int(in[i].length)
		}
		if total > math.MaxInt32 {
			return nil, nil, fault.New(fault.Invalid, "texts of one chunk have more than %d bytes", math.MaxInt32)
		}
		ends[i+1] = int32(total)
	}
	out := make([]byte, 0, total)
	for i := range in {
		if isValid(bitmap, i) {
			out = append(out, in[i].bytes()...)
		}
	}
	return int32Buffer(ends), memory.NewBufferBytes(out), nil
}

// decimals widens the 16, 32, 64 or 128 bits of a DECIMAL to 128.
func (c *column) decimals(vec bindings.Vector, n int) *memory.Buffer {
	out := make([]byte, n*arrow.Decimal128SizeBytes)
	if c.internal == bindings.TypeHugeInt {
		copy(out, values[byte](vec, len(out)))
		return memory.NewBufferBytes(out)
	}
	wide := unsafe.Slice((*[2]int64)(unsafe.Pointer(unsafe.SliceData(out))), n)
	put := func(i int, v int64) { wide[i] = [2]int64{v, v >> 63} }
	switch c.internal {
	case bindings.TypeSmallInt:
		for i, v := range values[int16](vec, n) {
			put(i, int64(v))
		}
	case bindings.TypeInteger:
		for i, v := range values[int32](vec, n) {
			put(i, int64(v))
		}
	default:
		for i, v := range values[int64](vec, n) {
			put(i, v)
		}
	}
	return memory.NewBufferBytes(out)
}

// enumIndex returns the dictionary position of value i of an ENUM vector.
func (c *column) enumIndex(vec bindings.Vector, n int) (func(i int) int, error) {
	switch c.internal {
	case bindings.TypeUTinyInt:
		v := values[uint8](vec, n)
		return func(i int) int { return int(v[i]) }, nil
	case bindings.TypeUSmallInt:
		v := values[uint16](vec, n)
		return func(i int) int { return int(v[i]) }, nil
	case bindings.TypeUInteger:
		v := values[uint32](vec, n)
		return func(i int) int { return int(v[i]) }, nil
	}
	return nil, errors.New("enum of an unknown width")
}
