package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"syscall"
)

// readChunk is how much a reader fetches at least.
const readChunk = 256 << 10

// isMediaError reports whether err says that stored bytes cannot be read back, as opposed to a passing trouble of this process.
func isMediaError(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EBADMSG)
}

// itemKind says what a reader met.
type itemKind uint8

const (
	itemEnd    itemKind = iota
	itemRecord          // a valid record
	itemDamage          // bytes that hold no valid record; something valid may follow
	itemTail            // bytes up to the end of the file that hold no valid record and no complete damaged one
)

// item is one step of a reader.
type item struct {
	kind   itemKind
	offset int64
	size   int64
	// header is set for records, and for damage whose head is intact (known).
	header recordHeader
	known  bool
	// raw is the whole record, valid until the next step. Nil unless kind is itemRecord.
	raw []byte
	// err is the read error behind the damage, if there is one.
	err error
}

// payload returns the record's payload.
func (it item) payload() []byte { return it.raw[it.header.headLen():] }

// segmentReader walks the records of a segment in bounded memory: one record or readChunk, whichever is larger.
type segmentReader struct {
	f      io.ReaderAt
	mark   uint64
	size   int64
	off    int64
	last   LSN
	buf    []byte // bytes of the file from bufOff
	bufOff int64
}

// newSegmentReader reads f from offset start up to size.
func newSegmentReader(f io.ReaderAt, mark uint64, start, size int64) *segmentReader {
	return &segmentReader{f: f, mark: mark, off: start, size: size}
}

// peek returns up to n bytes at off, fewer only at the end of the segment.
func (r *segmentReader) peek(off int64, n int) ([]byte, error) {
	n = int(min(int64(n), r.size-off))
	if off >= r.bufOff && off+int64(n) <= r.bufOff+int64(len(r.buf)) {
		at := off - r.bufOff
		return r.buf[at : at+int64(n)], nil
	}
	want := int(min(int64(max(n, readChunk)), r.size-off))
	if cap(r.buf) < want {
		r.buf = make([]byte, want)
	}
	r.buf, r.bufOff = r.buf[:want], off
	got, err := r.f.ReadAt(r.buf, off)
	if got == want || errors.Is(err, io.EOF) {
		err = nil
	}
	r.buf = r.buf[:got]
	return r.buf[:min(n, got)], err
}

// next returns the next item. Only errors that are no damage of the medium are returned; after damage of the medium the rest of the
// segment is one damaged range.
func (r *segmentReader) next() (item, error) {
	if r.off >= r.size {
		return item{kind: itemEnd, offset: r.off}, nil
	}
	start := r.off
	rest := item{kind: itemTail, offset: start, size: r.size - start}
	for off := start; off >= 0; {
		it, err := r.at(off)
		if err == nil && it.known && it.kind != itemTail {
			if off > start { // something of use lies behind a gap
				r.off = off
				return item{kind: itemDamage, offset: start, size: off - start}, nil
			}
			r.off, r.last = off+it.size, it.header.lsn
			return it, nil
		}
		if it.known && off == start {
			rest.header, rest.known = it.header, true
		}
		if err == nil {
			off, err = r.seek(off + 1)
		}
		if err != nil {
			if !isMediaError(err) {
				return item{}, err
			}
			rest.kind, rest.err, off = itemDamage, err, -1
		}
	}
	r.off = r.size
	return rest, nil
}

// at looks at the bytes at off as a record. known tells that the head is intact; kind is then itemRecord, itemDamage (payload
// damaged) or itemTail (the file ends inside).
func (r *segmentReader) at(off int64) (item, error) {
	b, err := r.peek(off, maxHeaderLen)
	if err != nil && len(b) < recordHeaderLen {
		return item{}, err
	}
	h, ok := decodeHeader(b, r.mark)
	if !ok || h.lsn <= r.last {
		return item{kind: itemDamage}, nil
	}
	it := item{kind: itemDamage, offset: off, size: h.size(), header: h, known: true}
	if off+it.size > r.size {
		it.kind = itemTail
		return it, nil
	}
	b, err = r.peek(off, int(it.size))
	if err != nil && !isMediaError(err) {
		return item{}, err
	}
	it.err = err
	if err == nil && int64(len(b)) == it.size && checkBody(b, h) {
		it.kind, it.raw = itemRecord, b
	}
	return it, nil
}

// seek returns the first place at or after off where the mark stands, or -1.
func (r *segmentReader) seek(off int64) (int64, error) {
	var mark [8]byte
	binary.LittleEndian.PutUint64(mark[:], r.mark)
	for off+recordHeaderLen <= r.size {
		b, err := r.peek(off, readChunk)
		if i := bytes.Index(b, mark[:]); i >= 0 {
			return off + int64(i), nil
		}
		if err != nil {
			return -1, err
		}
		if len(b) < len(mark) {
			return -1, nil
		}
		off += int64(len(b) - len(mark) + 1)
	}
	return -1, nil
}
