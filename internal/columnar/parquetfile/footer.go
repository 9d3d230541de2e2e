package parquetfile

import (
	"encoding/binary"
	"math"
)

// Physical types, by their numbers in the format.
const (
	physBool   = 0
	physInt32  = 1
	physInt64  = 2
	physDouble = 5
	physBytes  = 6
)

func physical(k Kind) int32 {
	switch k {
	case Bool:
		return physBool
	case Int16:
		return physInt32
	case Int64, Timestamp:
		return physInt64
	case Float64:
		return physDouble
	default:
		return physBytes
	}
}

// footer returns the file's metadata, its length and the closing magic.
func (w *Writer) footer() []byte {
	t := &thrift{buf: make([]byte, 0, 4096)}
	t.begin()
	t.i32(1, 2)
	w.schema(t)
	t.i64(3, w.rows)
	t.list(4, thriftStruct, len(w.groups))
	for i := range w.groups {
		w.rowGroup(t, i)
	}
	if len(w.opts.Meta) > 0 {
		t.list(5, thriftStruct, len(w.opts.Meta))
		for _, kv := range w.opts.Meta {
			t.begin()
			t.text(1, kv[0])
			t.text(2, kv[1])
			t.end()
		}
	}
	t.text(6, w.opts.CreatedBy)
	t.list(7, thriftStruct, len(w.columns))
	for range w.columns { // bounds follow the order of the type
		t.begin()
		t.empty(1)
		t.end()
	}
	t.end()
	out := binary.LittleEndian.AppendUint32(t.buf, uint32(len(t.buf)))
	return append(out, magic...)
}

func (w *Writer) schema(t *thrift) {
	t.list(2, thriftStruct, len(w.columns)+1)
	t.begin()
	t.text(4, "schema")
	t.i32(5, int32(len(w.columns)))
	t.end()
	for i := range w.columns {
		w.columns[i].element(t)
	}
}

// element writes the column's place in the schema.
func (c *Column) element(t *thrift) {
	t.begin()
	t.i32(1, physical(c.Kind))
	repetition := int32(1)
	if c.Required {
		repetition = 0
	}
	t.i32(3, repetition)
	t.text(4, c.Name)
	converted := map[Kind]int32{Text: 0, Timestamp: 10, Int16: 16, JSON: 19}
	if v, ok := converted[c.Kind]; ok {
		t.i32(6, v)
	}
	if c.FieldID != 0 {
		t.i32(9, c.FieldID)
	}
	c.logicalType(t)
	t.end()
}

func (c *Column) logicalType(t *thrift) {
	switch c.Kind {
	case Text:
		t.open(10)
		t.empty(1)
		t.end()
	case JSON:
		t.open(10)
		t.empty(12)
		t.end()
	case Int16:
		t.open(10)
		t.open(10)
		t.i8(1, 16)
		t.bool(2, true)
		t.end()
		t.end()
	case Timestamp:
		t.open(10)
		t.open(8)
		t.bool(1, true)
		t.open(2)
		t.empty(2)
		t.end()
		t.end()
		t.end()
	default:
	}
}

func (w *Writer) rowGroup(t *thrift, i int) {
	g := &w.groups[i]
	var raw, size int64
	for _, c := range g.chunks {
		raw, size = raw+c.raw, size+c.size
	}
	t.begin()
	t.list(1, thriftStruct, len(g.chunks))
	for j := range g.chunks {
		t.begin()
		t.i64(2, 0)
		w.chunk(t, &w.columns[j], &g.chunks[j], g.rows)
		t.end()
	}
	t.i64(2, raw)
	t.i64(3, int64(g.rows))
	t.i64(5, g.start)
	t.i64(6, size)
	if i <= math.MaxInt16 {
		t.i16(7, int16(i))
	}
	t.end()
}

func (w *Writer) chunk(t *thrift, c *Column, m *chunkMeta, rows int) {
	t.open(3)
	t.i32(1, physical(c.Kind))
	encodings := []int32{m.encoding, rle}
	if m.dictOffset > 0 {
		encodings = append(encodings, plain)
	}
	t.list(2, thriftI32, len(encodings))
	for _, e := range encodings {
		t.buf = binary.AppendVarint(t.buf, int64(e))
	}
	t.list(3, thriftBinary, 1)
	t.element(c.Name)
	t.i32(4, m.codec)
	t.i64(5, int64(rows))
	t.i64(6, m.raw)
	t.i64(7, m.size)
	t.i64(9, m.dataOffset)
	if m.dictOffset > 0 {
		t.i64(11, m.dictOffset)
	}
	t.open(12)
	t.i64(3, m.stats.nulls)
	if m.stats.bounded {
		t.text(5, m.stats.max)
		t.text(6, m.stats.min)
		t.bool(7, m.stats.maxExact)
		t.bool(8, m.stats.minExact)
	}
	t.end()
	t.end()
}

// footerStats puts bounds into the form of the footer.
func footerStats(k Kind, s Stats) statistics {
	out := statistics{nulls: s.Nulls, bounded: s.Values > 0 && !s.Unbounded, minExact: true, maxExact: true}
	if !out.bounded {
		return out
	}
	switch k {
	case Bool:
		out.min, out.max = string([]byte{byte(s.MinInt)}), string([]byte{byte(s.MaxInt)})
	case Int16:
		out.min, out.max = word32(s.MinInt), word32(s.MaxInt)
	case Float64:
		out.min, out.max = floatBounds(s)
	case Text, JSON:
		out.min, out.minExact = LowerBound(s.MinText)
		out.max, out.maxExact, out.bounded = UpperBound(s.MaxText)
	default:
		out.min, out.max = word64(uint64(s.MinInt)), word64(uint64(s.MaxInt))
	}
	return out
}

// floatBounds writes zeros so that both of them lie inside, as the format asks.
func floatBounds(s Stats) (least, greatest string) {
	lo, hi := s.MinFloat, s.MaxFloat
	if lo == 0 {
		lo = math.Copysign(0, -1)
	}
	if hi == 0 {
		hi = 0
	}
	return word64(math.Float64bits(lo)), word64(math.Float64bits(hi))
}

func word32(v int64) string {
	return string(binary.LittleEndian.AppendUint32(nil, uint32(v)))
}

func word64(v uint64) string { return string(binary.LittleEndian.AppendUint64(nil, v)) }
