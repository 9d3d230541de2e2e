package parquetfile

import (
	"encoding/binary"
	"math/bits"

	"github.com/klauspost/compress/zstd"
)

const (
	// partialBytes is the least size of a page of which a part is worth decompressing alone.
	partialBytes = 256 << 10
	// maxBlockBytes is the most that a block of a frame holds.
	maxBlockBytes = 128 << 10
)

// firstTexts reads the texts of the first rows of a page, which has more. It is not done when the page is not as Writer writes it, or
// nothing would be spared; then nothing has changed.
func (r *chunkReader) firstTexts(h pageHeader, need int) (done bool, err error) {
	t := &r.values.Texts
	packed := r.rest[:h.size]
	start, texts := len(t.Bytes), len(t.Starts)
	undo := func() {
		t.Bytes, t.Starts, t.Ends, r.values.Present = t.Bytes[:start], t.Starts[:texts], t.Ends[:texts], nil
	}
	if r.row > 0 && r.values.Present != nil || start+int(h.raw) > maxPageBytes || !sizeHolds(packed, h.raw) {
		return false, nil // undo would forget the pages before
	}
	frame, ok := cutFrame(packed)
	if !ok {
		return false, nil
	}
	// A little more than the rows' share at first: texts differ in length.
	for want := int64(need) * 9 / 8; ; want += want/2 + 1 {
		blocks := int(int64(len(frame.ends))*want/int64(h.values)) + 1
		if blocks+1 >= len(frame.ends) {
			return false, nil
		}
		out, ok := r.prefix(t.Bytes, frame, blocks)
		if !ok {
			return false, nil
		}
		t.Bytes = out
		rest, _, ok := r.levels(out[start:], int(h.values))
		if !ok {
			undo()
			return false, nil
		}
		have := r.values.count(r.row, need)
		got, err := r.plainTexts(len(out)-len(rest), have, false)
		if err != nil {
			return false, err
		}
		if got == have {
			if have < need {
				r.values.spread(r.row, need, have)
			}
			r.rest = r.rest[h.size:]
			return true, nil
		}
		undo()
	}
}

// frame is a compressed page and where its blocks end.
type frame struct {
	zstd.Header
	packed []byte
	ends   []int
}

// cutFrame finds the blocks. It is not ok for a frame that Writer does not write.
func cutFrame(packed []byte) (f frame, ok bool) {
	f.packed = packed
	if err := f.Decode(packed); err != nil || f.HasCheckSum || f.DictionaryID != 0 || !f.HasFCS {
		return f, false
	}
	for at, last := f.HeaderSize, false; !last; {
		if len(packed)-at < 3 {
			return f, false
		}
		head := uint32(packed[at]) | uint32(packed[at+1])<<8 | uint32(packed[at+2])<<16
		size := int(head >> 3)
		if head>>1&3 == 1 {
			size = 1 // one byte, repeated
		}
		if at += 3; size > len(packed)-at {
			return f, false
		}
		at, last = at+size, head&1 == 1
		f.ends = append(f.ends, at)
	}
	return f, true
}

// prefix appends what the first blocks of a frame hold, at least two and not all, to dst.
func (d *Decoder) prefix(dst []byte, f frame, blocks int) ([]byte, bool) {
	// A frame of its own: a header that does not tell the size, and the mark of the last block.
	d.frame = binary.LittleEndian.AppendUint32(d.frame[:0], 0xfd2fb528)
	d.frame = append(d.frame, 0, byte(max(bits.Len64(f.FrameContentSize)-10, 1)<<3))
	last := len(d.frame) + f.ends[blocks-1] - f.HeaderSize
	d.frame = append(d.frame, f.packed[f.HeaderSize:f.ends[blocks]]...)
	d.frame[last] |= 1
	most := min((blocks+1)*maxBlockBytes, int(f.FrameContentSize))
	if need := len(dst) + most; cap(dst) < need {
		grown := make([]byte, len(dst), need)
		copy(grown, dst)
		dst = grown
	}
	out, err := d.zstd.DecodeAll(d.frame, dst[:len(dst):len(dst)+most])
	if err != nil {
		return dst, false
	}
	return dst[:len(out)], true
}
