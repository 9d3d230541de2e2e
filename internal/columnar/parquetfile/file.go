package parquetfile

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"unsafe"

	"github.com/millstream/millstream/internal/fault"
)

// Bounds on what a file may claim, so that a damaged one cannot ask for memory without end.
const (
	maxFooterBytes = 256 << 20
	maxGroupRows   = 1 << 22
	maxPageBytes   = 128 << 20
	tailBytes      = 64 << 10 // read at first, which holds the footer of most files
)

// File is what the footer of a file says. It is immutable and safe for concurrent use; it does not hold the file open.
type File struct {
	columns []Column
	rows    []int32 // by row group
	chunks  []chunkPlace
	meta    [][2]string
	footer  []byte // statistics point into it
	places  map[string]int
}

// chunkPlace is where one column of one row group lies.
type chunkPlace struct {
	offset, size int64 // of its pages in the file
	nulls        int64 // -1 when not known
	low, high    bound
	codec        int32

	lowExact, highExact bool // the bounds are values
}

// bound is where a bound stands in the footer; its length is -1 when there is none.
type bound struct {
	at     uint32
	length int32
}

// ReadFooter reads the footer of the file of size bytes. A file that is damaged is fault.Corrupt, one that Writer does not write
// (another type, nesting, several files) fault.Unsupported.
func ReadFooter(in io.ReaderAt, size int64) (*File, error) {
	footer, err := footerBytes(in, size)
	if err != nil {
		return nil, err
	}
	f := &File{footer: footer}
	p := footerParser{thriftReader: thriftReader{buf: footer}, file: f, end: size - int64(len(footer)) - footerTail}
	if err := p.parse(); err != nil {
		return nil, err
	}
	f.places = make(map[string]int, len(f.columns))
	for i, c := range f.columns {
		f.places[c.Name] = i
	}
	return f, nil
}

const footerTail = 8 // the length and the closing magic

func footerBytes(in io.ReaderAt, size int64) ([]byte, error) {
	if size < footerTail+int64(len(magic)) {
		return nil, fault.New(fault.Corrupt, "a data file of %d bytes", size)
	}
	tail := make([]byte, min(size, tailBytes))
	if err := readAt(in, tail, size-int64(len(tail))); err != nil {
		return nil, err
	}
	end := tail[len(tail)-footerTail:]
	length := int64(binary.LittleEndian.Uint32(end))
	if string(end[4:]) != magic || length > min(size-footerTail-int64(len(magic)), maxFooterBytes) {
		return nil, fault.New(fault.Corrupt, "the footer of a data file is damaged")
	}
	if length <= int64(len(tail))-footerTail {
		return bytes.Clone(tail[int64(len(tail))-footerTail-length : len(tail)-footerTail]), nil // the File keeps it, and not the tail
	}
	footer := make([]byte, length)
	return footer, readAt(in, footer, size-footerTail-length)
}

// readAt fills b. The end of the file inside it is damage, any other error is the storage's.
func readAt(in io.ReaderAt, b []byte, offset int64) error {
	n, err := in.ReadAt(b, offset)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF || err == io.ErrUnexpectedEOF: //nolint:errorlint // the contract of io.ReaderAt
		return fault.New(fault.Corrupt, "a data file ends at byte %d, before %d", offset+int64(n), offset+int64(len(b)))
	default:
		return fault.Wrap(fault.Unavailable, err, "read a data file")
	}
}

// Columns returns the columns in their order. The caller does not change them.
func (f *File) Columns() []Column { return f.columns }

// Column returns the place of the column of a name, or -1.
func (f *File) Column(name string) int {
	if i, ok := f.places[name]; ok {
		return i
	}
	return -1
}

// Groups returns the number of row groups.
func (f *File) Groups() int { return len(f.rows) }

// Rows returns the number of rows in a row group.
func (f *File) Rows(group int) int { return int(f.rows[group]) }

// Meta returns the text of a key of the footer.
func (f *File) Meta(key string) (string, bool) {
	for _, kv := range f.meta {
		if kv[0] == key {
			return kv[1], true
		}
	}
	return "", false
}

// Size returns about how many bytes of memory the File takes, for caches.
func (f *File) Size() int64 {
	size := len(f.footer) + len(f.chunks)*int(unsafe.Sizeof(chunkPlace{})) + 4*len(f.rows) + 128*len(f.columns)
	for _, kv := range f.meta {
		size += len(kv[0]) + len(kv[1]) + 32
	}
	return int64(size)
}

func (f *File) chunk(group, column int) *chunkPlace { return &f.chunks[group*len(f.columns)+column] }

// ChunkBytes returns the size in the file of a column of a row group.
func (f *File) ChunkBytes(group, column int) int64 { return f.chunk(group, column).size }

// ChunkEnd returns the offset of the byte behind a column of a row group.
func (f *File) ChunkEnd(group, column int) int64 {
	c := f.chunk(group, column)
	return c.offset + c.size
}

// Nulls returns how many rows of a row group have no value in a column. It is not ok when that is not known.
func (f *File) Nulls(group, column int) (n int64, ok bool) {
	n = f.chunk(group, column).nulls
	return n, n >= 0
}

func (f *File) bounds(group, column, width int) (low, high []byte, ok bool) {
	c := f.chunk(group, column)
	if c.low.length < 0 || c.high.length < 0 || width > 0 && (int(c.low.length) != width || int(c.high.length) != width) {
		return nil, nil, false
	}
	return c.low.of(f.footer), c.high.of(f.footer), true
}

func (b bound) of(footer []byte) []byte { return footer[b.at : int(b.at)+int(b.length)] }

// IntBounds returns bounds, both inclusive, of the values of a column of Int16, Int64, Timestamp or Bool (0 and 1) in a row group. It
// is not ok when they are not known, as in a row group without values.
func (f *File) IntBounds(group, column int) (low, high int64, ok bool) {
	switch f.columns[column].Kind {
	case Bool:
		l, h, ok := f.bounds(group, column, 1)
		if !ok {
			return 0, 0, false
		}
		return int64(l[0]), int64(h[0]), true
	case Int16:
		l, h, ok := f.bounds(group, column, 4)
		if !ok {
			return 0, 0, false
		}
		return int64(int32(binary.LittleEndian.Uint32(l))), int64(int32(binary.LittleEndian.Uint32(h))), true
	case Int64, Timestamp:
		l, h, ok := f.bounds(group, column, 8)
		if !ok {
			return 0, 0, false
		}
		return int64(binary.LittleEndian.Uint64(l)), int64(binary.LittleEndian.Uint64(h)), true
	default:
		return 0, 0, false
	}
}

// FloatBounds does the same for Float64. Where a value is NaN there are no bounds.
func (f *File) FloatBounds(group, column int) (low, high float64, ok bool) {
	if f.columns[column].Kind != Float64 {
		return 0, 0, false
	}
	l, h, ok := f.bounds(group, column, 8)
	if !ok {
		return 0, 0, false
	}
	low, high = math.Float64frombits(binary.LittleEndian.Uint64(l)), math.Float64frombits(binary.LittleEndian.Uint64(h))
	return low, high, low <= high
}

// TextBounds does the same for Text and JSON, ordered by bytes. A bound may be a text that does not occur. The bytes belong to the File.
func (f *File) TextBounds(group, column int) (low, high []byte, ok bool) {
	if k := f.columns[column].Kind; k != Text && k != JSON {
		return nil, nil, false
	}
	return f.bounds(group, column, 0)
}
