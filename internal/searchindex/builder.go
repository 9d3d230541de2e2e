package searchindex

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/FastFilter/xorfilter"
)

// Builder makes the index of one file while the file is written: the texts of each column of a row group, then EndRowGroup. It is
// used by one goroutine.
type Builder struct {
	columns []*columnBuilder
	groups  int
	tokens  tokenizer
	fuse    xorfilter.BinaryFuseBuilder
	maps    fuseBuilder
	slices  []uint8
}

type columnBuilder struct {
	name    string
	set     hashSet
	all     bool // the open row group matches everything
	bytes   int  // of the open row group's texts
	filters []byte
	ends    []uint32 // of each row group's filter in filters
}

// NewBuilder returns a builder for the text columns of these names in the file.
func NewBuilder(columns []string) *Builder {
	b := &Builder{tokens: tokenizer{fold: newFoldTable()}}
	for _, name := range columns {
		b.columns = append(b.columns, &columnBuilder{name: name})
	}
	return b
}

// Add adds a value of a column of the open row group, in the slice of its row. A value that occurs often need be added once only, with
// AnySlice if it is in several slices.
func (b *Builder) Add(column int, text []byte, slice uint8) {
	c := b.columns[column]
	if c.all {
		return
	}
	if !b.tokens.each(text, func(hash uint64) { c.set.add(hash, slice) }) {
		c.all = true
	}
}

// largeColumn is how many bytes of text a column of a row group has when it pays to know the slices of its words: texts of less are read at
// once, and a filter that wrongly admits fewer row groups is worth more.
const largeColumn = 512 << 10

// AddBytes says that the open row group has so many more bytes of text in a column, repetitions included.
func (b *Builder) AddBytes(column, n int) { b.columns[column].bytes += n }

// EndRowGroup closes the open row group.
func (b *Builder) EndRowGroup() {
	for _, c := range b.columns {
		if c.all {
			c.filters = append(c.filters, kindAll)
		} else {
			c.filters = b.appendFilter(c.filters, c)
		}
		c.ends = append(c.ends, uint32(len(c.filters)))
		c.set.reset()
		c.all, c.bytes = false, 0
	}
	b.groups++
}

// Identity names the file that an index was built for.
type Identity struct {
	Key      string // object key of the data file
	Checksum string // of the data file
}

// Finish returns the bytes of the index object:
//
//	magic "MSIX", u16 version, u32 length of the directory, u32 CRC32C of the directory
//	directory: key, checksum, uvarint row groups, uvarint columns, for each column: name, u64 offset of its block, for each row
//	group uvarint length of its filter, u32 CRC32C of its block
//	blocks: the filters of one column, row group by row group
//
// Texts are a uvarint length and bytes. Numbers are little endian.
func (b *Builder) Finish(id Identity) []byte {
	var dir []byte
	dir = appendText(dir, id.Key)
	dir = appendText(dir, id.Checksum)
	dir = binary.AppendUvarint(dir, uint64(b.groups))
	dir = binary.AppendUvarint(dir, uint64(len(b.columns)))
	var offset uint64
	for _, c := range b.columns {
		dir = appendText(dir, c.name)
		dir = binary.LittleEndian.AppendUint64(dir, offset)
		last := uint32(0)
		for _, end := range c.ends {
			dir = binary.AppendUvarint(dir, uint64(end-last))
			last = end
		}
		dir = binary.LittleEndian.AppendUint32(dir, checksum(c.filters))
		offset += uint64(len(c.filters))
	}
	out := make([]byte, 0, headLen+len(dir)+int(offset))
	out = append(out, magic...)
	out = binary.LittleEndian.AppendUint16(out, version)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(dir)))
	out = binary.LittleEndian.AppendUint32(out, checksum(dir))
	out = append(out, dir...)
	for _, c := range b.columns {
		out = append(out, c.filters...)
	}
	return out
}

const (
	magic   = "MSIX"
	version = 2 // that is written; version 1 has other kinds of filters
	headLen = len(magic) + 2 + 4 + 4
)

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
