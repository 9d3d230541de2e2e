package parquetfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/millstream/millstream/internal/fault"
)

// Decoder reads columns of row groups. It keeps its memory from one to the next and is used by one goroutine.
type Decoder struct {
	zstd    *zstd.Decoder
	file    []byte   // of the chunk
	raw     []byte   // of the page at hand, and of a dictionary of numbers
	dict    []uint64 // a dictionary of numbers
	index   []uint32
	lengths []int64
	frame   []byte // a part of a compressed page
}

// NewDecoder returns a decoder. It needs no closing.
func NewDecoder() (*Decoder, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxPageBytes))
	if err != nil {
		return nil, fmt.Errorf("set up zstd: %w", err)
	}
	return &Decoder{zstd: z}, nil
}

// Read fills v with a column of a row group of the file, whose bytes in gives. Damage is fault.Corrupt, a page that Writer does not
// write fault.Unsupported; v is then not to be used.
func (d *Decoder) Read(in io.ReaderAt, f *File, group, column int, v *Values) error {
	return d.ReadFirst(in, f, First{group, column, f.Rows(group)}, v)
}

// First is the first rows of a column of a row group.
type First struct{ Group, Column, Rows int }

// ReadFirst does the same for some rows at the beginning of a row group: of texts it decompresses little more than those.
func (d *Decoder) ReadFirst(in io.ReaderAt, f *File, first First, v *Values) error {
	group, column := first.Group, first.Column
	c := f.chunk(group, column)
	if c.size > maxPageBytes {
		return fault.New(fault.Unsupported, "a column chunk of %d bytes", c.size)
	}
	d.file = fit(d.file, int(c.size))
	if err := readAt(in, d.file, c.offset); err != nil {
		return err
	}
	r := chunkReader{Decoder: d, column: &f.columns[column], codec: c.codec, rest: d.file, values: v, wanted: first.Rows}
	v.reset(r.column.Kind, f.Rows(group))
	if err := r.read(); err != nil {
		return fmt.Errorf("column %q, row group %d: %w", r.column.Name, group, err)
	}
	v.Rows = min(v.Rows, max(first.Rows, 0))
	return nil
}

// chunkReader reads the pages of one chunk.
type chunkReader struct {
	*Decoder
	column  *Column
	codec   int32
	rest    []byte
	values  *Values
	wanted  int // rows
	row     int // first of the next page
	hasDict bool
}

func (r *chunkReader) read() error {
	for first := true; r.row < min(r.wanted, r.values.Rows); first = false {
		h, err := r.header()
		if err != nil {
			return err
		}
		switch {
		case h.kind == pageType(true) && first:
			err = r.dictionary(h)
		case h.kind == pageType(false):
			err = r.data(h)
		default:
			err = fault.New(fault.Unsupported, "a page of type %d", h.kind)
		}
		if err != nil {
			return err
		}
	}
	if r.row == r.values.Rows && len(r.rest) > 0 {
		return damaged()
	}
	return nil
}

func damaged() error { return fault.New(fault.Corrupt, "a page of a data file is damaged") }

// pageHeader is what stands before a page.
type pageHeader struct {
	kind           int32
	raw, size      int32
	crc            uint32
	checked        bool
	values         int32
	encoding       int32
	levelsEncoding int32
}

// header takes the next page's header and checks its body.
func (r *chunkReader) header() (pageHeader, error) {
	h := pageHeader{kind: -1, raw: -1, size: -1, values: -1, encoding: -1, levelsEncoding: rle}
	t := thriftReader{buf: r.rest}
	h.read(&t)
	r.rest = t.buf[t.pos:]
	if t.failed || h.raw < 0 || h.size < 0 || int(h.size) > len(r.rest) || h.values < 0 {
		return h, damaged()
	}
	if h.raw > maxPageBytes {
		return h, fault.New(fault.Unsupported, "a page of %d bytes", h.raw)
	}
	if h.levelsEncoding != rle {
		return h, fault.New(fault.Unsupported, "levels of encoding %d", h.levelsEncoding)
	}
	if h.checked && crc32.ChecksumIEEE(r.rest[:h.size]) != h.crc {
		return h, fault.New(fault.Corrupt, "a page of a data file fails its checksum")
	}
	return h, nil
}

func (h *pageHeader) read(t *thriftReader) {
	for id := int16(0); ; {
		typ, ok := t.next(&id)
		if !ok {
			return
		}
		switch {
		case id == 1 && typ == thriftI32:
			h.kind = t.int32()
		case id == 2 && typ == thriftI32:
			h.raw = t.int32()
		case id == 3 && typ == thriftI32:
			h.size = t.int32()
		case id == 4 && typ == thriftI32:
			h.crc, h.checked = uint32(t.int32()), true
		case (id == 5 || id == 7) && typ == thriftStruct:
			h.inner(t)
		default:
			t.skip(typ)
		}
	}
}

// inner reads the header of a data or a dictionary page.
func (h *pageHeader) inner(t *thriftReader) {
	for id := int16(0); ; {
		typ, ok := t.next(&id)
		if !ok {
			return
		}
		switch {
		case id == 1 && typ == thriftI32:
			h.values = t.int32()
		case id == 2 && typ == thriftI32:
			h.encoding = t.int32()
		case id == 3 && typ == thriftI32:
			h.levelsEncoding = t.int32()
		default:
			t.skip(typ)
		}
	}
}

// body appends the page's bytes to dst.
func (r *chunkReader) body(h pageHeader, dst []byte) ([]byte, error) {
	packed := r.rest[:h.size]
	r.rest = r.rest[h.size:]
	if len(dst)+int(h.raw) > maxPageBytes {
		return nil, fault.New(fault.Unsupported, "a column chunk of more than %d bytes", maxPageBytes)
	}
	if r.codec == codecNone {
		if h.raw != h.size {
			return nil, damaged()
		}
		return append(dst, packed...), nil
	}
	if !sizeHolds(packed, h.raw) {
		return nil, damaged() // before memory is taken
	}
	if need := len(dst) + int(h.raw); cap(dst) < need {
		grown := make([]byte, len(dst), need+need/8) // row groups are alike
		copy(grown, dst)
		dst = grown
	}
	out, err := r.zstd.DecodeAll(packed, dst[:len(dst):len(dst)+int(h.raw)])
	if err != nil {
		return nil, fault.Wrap(fault.Corrupt, err, "a page of a data file is damaged")
	}
	if len(out) != len(dst)+int(h.raw) {
		return nil, damaged()
	}
	return dst[:len(out)], nil
}

// sizeHolds compares what the page's header and the frame's say of the size. Only small frames do not say it.
func sizeHolds(packed []byte, raw int32) bool {
	const small = 1 << 16
	var frame zstd.Header
	if err := frame.Decode(packed); err != nil {
		return false
	}
	return frame.FrameContentSize == uint64(raw) || !frame.HasFCS && raw < small
}

// dictionary reads a dictionary page.
func (r *chunkReader) dictionary(h pageHeader) (err error) {
	if h.encoding != plain {
		return fault.New(fault.Unsupported, "a dictionary of encoding %d", h.encoding)
	}
	if int(h.values) > r.values.Rows {
		return damaged() // no entry is without a row
	}
	r.hasDict = true
	if k := r.column.Kind; k == Text || k == JSON {
		t := &r.values.Texts
		if t.Bytes, err = r.body(h, t.Bytes); err != nil {
			return err
		}
		_, err = r.plainTexts(0, int(h.values), true)
		return err
	}
	if r.raw, err = r.body(h, r.raw[:0]); err != nil {
		return err
	}
	width := r.column.width()
	if len(r.raw) != int(h.values)*width || r.column.Kind == Bool {
		return damaged()
	}
	r.dict = fit(r.dict, int(h.values))
	for i := range r.dict {
		r.dict[i] = word(r.raw[i*width:], width)
	}
	return nil
}

// word reads a plain value; one of 32 bits is signed.
func word(b []byte, width int) uint64 {
	if width == 4 {
		return uint64(int64(int32(binary.LittleEndian.Uint32(b))))
	}
	return binary.LittleEndian.Uint64(b)
}

// plainTexts adds n texts with a length before each, which begin at a byte of Texts.Bytes; with whole, they end where the bytes end. It
// returns how many there were.
func (r *chunkReader) plainTexts(at, n int, whole bool) (int, error) {
	t := &r.values.Texts
	for i := range n {
		size, _, ok := length(t.Bytes[at:])
		if at += 4; !ok || size > uint64(len(t.Bytes)-at) {
			if whole {
				return i, damaged()
			}
			return i, nil
		}
		t.Starts, t.Ends = append(t.Starts, uint32(at)), append(t.Ends, uint32(at+int(size)))
		at += int(size)
	}
	if whole && at != len(t.Bytes) {
		return n, damaged()
	}
	return n, nil
}

// data reads a data page.
func (r *chunkReader) data(h pageHeader) (err error) {
	rows := int(h.values)
	if rows == 0 || rows > r.values.Rows-r.row || (h.encoding == rleDict) != r.hasDict {
		return damaged()
	}
	texts := r.column.Kind == Text || r.column.Kind == JSON
	if need := r.wanted - r.row; texts && h.encoding == plain && r.codec == codecZstd && need < rows && h.raw > partialBytes {
		done, err := r.firstTexts(h, need)
		if done || err != nil {
			r.row += rows
			return err
		}
	}
	t := &r.values.Texts
	start := 0
	var page []byte
	if texts && h.encoding != rleDict { // the texts stay where they are
		start = len(t.Bytes)
		if t.Bytes, err = r.body(h, t.Bytes); err != nil {
			return err
		}
		page = t.Bytes[start:]
	} else {
		if r.raw, err = r.body(h, r.raw[:0]); err != nil {
			return err
		}
		page = r.raw
	}
	rest, have, ok := r.levels(page, rows)
	if !ok {
		return damaged()
	}
	if texts {
		err = r.texts(h.encoding, rest, start+len(page)-len(rest), have)
	} else {
		err = r.numbers(h.encoding, rest, have)
	}
	if v := r.values; err == nil && have < rows {
		v.spread(r.row, rows, have)
	}
	r.row += rows
	return err
}

// levels takes off a page which of its rows have a value.
func (r *chunkReader) levels(page []byte, rows int) (rest []byte, have int, ok bool) {
	if r.column.Required {
		return page, rows, true
	}
	n, page, ok := length(page)
	if !ok || n > uint64(len(page)) {
		return nil, 0, false
	}
	r.index = fit(r.index, rows)
	if !unpackHybrid(r.index, page[:n], 1) {
		return nil, 0, false
	}
	for _, level := range r.index {
		if level > 1 {
			return nil, 0, false
		}
		have += int(level)
	}
	v := r.values
	if have < rows || v.Present != nil {
		v.havePresent(r.row)
		for i, level := range r.index {
			v.Present[r.row+i] = level == 1
		}
	}
	return page[n:], have, true
}

func length(page []byte) (n uint64, rest []byte, ok bool) {
	if len(page) < 4 {
		return 0, nil, false
	}
	return uint64(binary.LittleEndian.Uint32(page)), page[4:], true
}

// texts reads the texts of a page's rows that have one. Where they have no dictionary, they begin at a byte of Texts.Bytes.
func (r *chunkReader) texts(encoding int32, page []byte, at, have int) error {
	t := &r.values.Texts
	switch encoding {
	case rleDict:
		if t.Index == nil {
			r.values.index = fit(r.values.index, r.values.Rows)
			t.Index = r.values.index
		}
		return r.indexes(t.Index[r.row:r.row+have], page, len(t.Starts))
	case plain:
		_, err := r.plainTexts(at, have, true)
		return err
	case deltaLength:
		r.lengths = fit(r.lengths, have)
		rest, ok := unpackDelta(r.lengths, page)
		if !ok {
			return damaged()
		}
		at += len(page) - len(rest)
		for _, size := range r.lengths {
			if size < 0 || size > int64(len(t.Bytes)-at) {
				return damaged()
			}
			t.Starts, t.Ends = append(t.Starts, uint32(at)), append(t.Ends, uint32(at+int(size)))
			at += int(size)
		}
		if at != len(t.Bytes) {
			return damaged()
		}
		return nil
	default:
		return unknownEncoding(encoding)
	}
}

func unknownEncoding(encoding int32) error {
	return fault.New(fault.Unsupported, "a page of encoding %d", encoding)
}

// indexes reads places in a dictionary of so many entries.
func (r *chunkReader) indexes(dst []uint32, page []byte, entries int) error {
	if len(page) == 0 || page[0] > 32 || !unpackHybrid(dst, page[1:], int(page[0])) {
		return damaged()
	}
	for _, i := range dst {
		if int(i) >= entries {
			return damaged()
		}
	}
	return nil
}

// numbers reads the numbers or truth values of a page's rows that have one.
func (r *chunkReader) numbers(encoding int32, page []byte, have int) error {
	v := r.values
	if r.column.Kind == Bool {
		if encoding != plain || len(page) != (have+7)/8 {
			return damaged()
		}
		for i := range have {
			v.Bools[r.row+i] = page[i/8]>>(i%8)&1 == 1
		}
		return nil
	}
	switch encoding {
	case rleDict:
		r.index = fit(r.index, have)
		if err := r.indexes(r.index, page, len(r.dict)); err != nil {
			return err
		}
		for i, at := range r.index {
			v.setNumber(r.row+i, r.dict[at])
		}
		return nil
	case plain:
		width := r.column.width()
		if len(page) != have*width {
			return damaged()
		}
		for i := range have {
			v.setNumber(r.row+i, word(page[i*width:], width))
		}
		return nil
	case deltaPacked:
		if r.column.Kind == Float64 {
			return damaged()
		}
		if rest, ok := unpackDelta(v.Ints[r.row:r.row+have], page); !ok || len(rest) > 0 {
			return damaged()
		}
		return nil
	default:
		return unknownEncoding(encoding)
	}
}

// width is the size of a plain number in bytes.
func (c *Column) width() int {
	if c.Kind == Int16 {
		return 4
	}
	return 8
}
