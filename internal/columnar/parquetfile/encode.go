package parquetfile

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Encodings, by their numbers in the format.
const (
	plain       = 0
	rle         = 3
	deltaPacked = 5
	deltaLength = 6
	rleDict     = 8
)

// page is one encoded page: its values' number and bytes.
type page struct {
	encoding int32
	values   int
	body     []byte
}

// encoder turns chunks into pages. Its buffers are used again for the next chunk.
type encoder struct {
	texts   textDict
	words   wordDict
	levels  []uint32
	lengths []int64
	dict    []byte
	data    []byte
	delta   []byte
}

// encode returns the data page of a chunk and its dictionary page, whose encoding is 0 and values 0 when there is none. Distinct
// is the text dictionary if there is one. All of it is valid until the next call.
func (e *encoder) encode(c *Column, chunk *Chunk, rows int) (data, dict page, distinct []string) {
	e.data, e.dict = e.data[:0], e.dict[:0]
	if !c.Required {
		e.appendLevels(chunk.Present, rows)
	}
	data = page{encoding: plain, values: rows}
	switch c.Kind {
	case Bool:
		e.appendBools(chunk.Bools)
	case Float64:
		if len(chunk.Floats) > 0 && e.words.build(len(chunk.Floats), func(i int) uint64 { return math.Float64bits(chunk.Floats[i]) }) {
			data.encoding, dict = rleDict, e.wordPage(8)
			break
		}
		for _, v := range chunk.Floats {
			e.data = binary.LittleEndian.AppendUint64(e.data, math.Float64bits(v))
		}
	case Text, JSON:
		if len(chunk.Texts) > 0 && e.texts.build(chunk.Texts) {
			data.encoding, dict, distinct = rleDict, e.textPage(), e.texts.values
			break
		}
		data.encoding = e.encodeTexts(chunk.Texts)
	default:
		data.encoding, dict = e.encodeInts(c, chunk.Ints)
	}
	data.body, dict.body = e.data, e.dict
	return data, dict, distinct
}

// encodeInts takes the dictionary if values repeat, else differences if they save a quarter, else plain values.
func (e *encoder) encodeInts(c *Column, values []int64) (encoding int32, dict page) {
	width := 8
	if c.Kind == Int16 {
		width = 4
	}
	if !c.Sequence && len(values) > 0 && e.words.build(len(values), func(i int) uint64 { return uint64(values[i]) }) {
		return rleDict, e.wordPage(width)
	}
	if narrow(values) {
		e.delta = appendDelta(e.delta[:0], values)
		if len(e.delta) < len(values)*width*3/4 {
			e.data = append(e.data, e.delta...)
			return deltaPacked, page{}
		}
	}
	for _, v := range values {
		e.data = appendWord(e.data, uint64(v), width)
	}
	return plain, page{}
}

// encodeTexts keeps the lengths apart when all are equal, as those of ids are: what remains is a tenth smaller than with a length
// before each. Of texts that differ in length the plain form is the smaller one once compressed.
func (e *encoder) encodeTexts(values []string) int32 {
	if !equalLengths(values) {
		for _, v := range values {
			e.data = binary.LittleEndian.AppendUint32(e.data, uint32(len(v)))
			e.data = append(e.data, v...)
		}
		return plain
	}
	e.lengths = e.lengths[:0]
	for _, v := range values {
		e.lengths = append(e.lengths, int64(len(v)))
	}
	e.data = appendDelta(e.data, e.lengths)
	for _, v := range values {
		e.data = append(e.data, v...)
	}
	return deltaLength
}

func equalLengths(values []string) bool {
	for _, v := range values {
		if len(v) != len(values[0]) {
			return false
		}
	}
	return len(values) > 0
}

// narrow reports whether the differences of any two values fit 62 bits, so that no reader has to subtract with overflow.
func narrow(values []int64) bool {
	s := intStats(values)
	return len(values) > 1 && s.MinInt > math.MinInt64/4 && s.MaxInt < math.MaxInt64/4
}

func appendWord(dst []byte, v uint64, width int) []byte {
	if width == 4 {
		return binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(dst, v)
}

func (e *encoder) wordPage(width int) page {
	for _, v := range e.words.values {
		e.dict = appendWord(e.dict, v, width)
	}
	e.appendIndexes(e.words.index, len(e.words.values))
	return page{encoding: plain, values: len(e.words.values)}
}

func (e *encoder) textPage() page {
	for _, v := range e.texts.values {
		e.dict = binary.LittleEndian.AppendUint32(e.dict, uint32(len(v)))
		e.dict = append(e.dict, v...)
	}
	e.appendIndexes(e.texts.index, len(e.texts.values))
	return page{encoding: plain, values: len(e.texts.values)}
}

func (e *encoder) appendIndexes(index []uint32, entries int) {
	width := max(1, bits.Len(uint(entries-1)))
	e.data = append(e.data, byte(width))
	e.data = appendHybrid(e.data, index, width)
}

// appendLevels writes which rows have a value, as the definition levels 0 and 1 behind their length.
func (e *encoder) appendLevels(present []bool, rows int) {
	start := len(e.data)
	e.data = append(e.data, 0, 0, 0, 0)
	if present == nil {
		e.data = binary.AppendUvarint(e.data, uint64(rows)<<1)
		e.data = append(e.data, 1)
	} else {
		e.levels = e.levels[:0]
		for _, p := range present {
			var level uint32
			if p {
				level = 1
			}
			e.levels = append(e.levels, level)
		}
		e.data = appendHybrid(e.data, e.levels, 1)
	}
	binary.LittleEndian.PutUint32(e.data[start:], uint32(len(e.data)-start-4))
}

func (e *encoder) appendBools(values []bool) {
	for len(values) > 0 {
		var b byte
		n := min(8, len(values))
		for i, v := range values[:n] {
			if v {
				b |= 1 << i
			}
		}
		e.data = append(e.data, b)
		values = values[n:]
	}
}
