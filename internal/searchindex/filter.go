package searchindex

import (
	"encoding/binary"

	"github.com/FastFilter/xorfilter"

	"github.com/millstream/millstream/internal/fault"
)

// Kinds of filters, the first byte of each.
const (
	kindAll  = 0 // matches everything
	kindList = 1 // sorted hashes, 8 bytes each; version 1
	kindFuse = 2 // a binary fuse filter of 8-bit fingerprints

	kindSliceList = 3 // hashes and their slices, 9 bytes each
	kindFuseMap   = 4 // a fuse map from hashes to slices
)

// listMax is how many hashes are listed instead of filtered: below it a fuse filter is larger than it saves.
const listMax = 24

const fuseHead = 8 + 4*4 // seed, segment length, mask, count, count length

// appendFilter appends the filter of a column of the open row group.
func (b *Builder) appendFilter(dst []byte, c *columnBuilder) []byte {
	hashes := c.set.list
	if len(hashes) > listMax && c.bytes < largeColumn {
		f, err := xorfilter.BuildBinaryFuse[uint8](&b.fuse, hashes)
		if err != nil {
			return append(dst, kindAll) // its construction gave up, which is not to be expected
		}
		return appendFuse(dst, f)
	}
	b.slices = c.set.appendSlices(b.slices[:0])
	if len(hashes) <= listMax {
		dst = append(dst, kindSliceList)
		for i, h := range hashes {
			dst = append(binary.LittleEndian.AppendUint64(dst, h), b.slices[i])
		}
		return dst
	}
	out, ok := b.maps.append(dst, hashes, b.slices)
	if !ok {
		return append(dst, kindAll)
	}
	return out
}

func appendFuse(dst []byte, f xorfilter.BinaryFuse[uint8]) []byte {
	dst = append(dst, kindFuse)
	dst = binary.LittleEndian.AppendUint64(dst, f.Seed)
	for _, n := range []uint32{f.SegmentLength, f.SegmentLengthMask, f.SegmentCount, f.SegmentCountLength} {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return append(dst, f.Fingerprints...)
}

// slicesOf returns the mask of the slices that can hold all hashes in one text; 0 means that the row group has none. It does not copy the
// filter.
func slicesOf(filter []byte, hashes []uint64) (uint8, error) {
	if len(filter) == 0 {
		return 0, errDamaged()
	}
	switch kind, rest := filter[0], filter[1:]; kind {
	case kindSliceList:
		mask := uint8(AllSlices)
		for _, h := range hashes {
			mask &= listSlices(rest, nonZero(h))
		}
		return mask, nil
	case kindFuseMap:
		f, err := parseFuseMap(rest)
		if err != nil {
			return 0, err
		}
		mask := uint8(AllSlices)
		for _, h := range hashes {
			slice, ok := f.slice(nonZero(h))
			if !ok {
				return 0, nil
			}
			mask &= maskOf(slice)
		}
		return mask, nil
	default:
		if ok, err := contains(filter, hashes); err != nil || !ok {
			return 0, err
		}
		return AllSlices, nil
	}
}

func listSlices(list []byte, hash uint64) (mask uint8) {
	for ; len(list) >= 9; list = list[9:] {
		if binary.LittleEndian.Uint64(list) == hash {
			mask |= maskOf(list[8])
		}
	}
	return mask
}

// contains reports whether a filter without slices admits all hashes. It does not copy the filter.
func contains(filter []byte, hashes []uint64) (bool, error) {
	if len(filter) == 0 {
		return false, errDamaged()
	}
	switch kind, rest := filter[0], filter[1:]; kind {
	case kindAll:
		return true, nil
	case kindList:
		for _, h := range hashes {
			if !listHas(rest, h) {
				return false, nil
			}
		}
		return true, nil
	case kindFuse:
		f, err := parseFuse(rest)
		if err != nil {
			return false, err
		}
		for _, h := range hashes {
			if !f.Contains(h) {
				return false, nil
			}
		}
		return true, nil
	default:
		return false, errDamaged()
	}
}

func listHas(list []byte, hash uint64) bool {
	for ; len(list) >= 8; list = list[8:] {
		if binary.LittleEndian.Uint64(list) == hash {
			return true
		}
	}
	return false
}

func parseFuse(b []byte) (*xorfilter.BinaryFuse[uint8], error) {
	if len(b) < fuseHead {
		return nil, errDamaged()
	}
	le := binary.LittleEndian
	f := &xorfilter.BinaryFuse[uint8]{
		Seed: le.Uint64(b), SegmentLength: le.Uint32(b[8:]), SegmentLengthMask: le.Uint32(b[12:]), SegmentCount: le.Uint32(b[16:]),
		SegmentCountLength: le.Uint32(b[20:]), Fingerprints: b[fuseHead:],
	}
	// The three places of a key lie below SegmentCountLength + 2 × SegmentLength, and are bent by the mask inside a segment.
	if uint64(len(f.Fingerprints)) < uint64(f.SegmentCountLength)+2*uint64(f.SegmentLength) || f.SegmentLength == 0 ||
		f.SegmentLengthMask != f.SegmentLength-1 || f.SegmentLength&(f.SegmentLength-1) != 0 {
		return nil, errDamaged()
	}
	return f, nil
}

func errDamaged() error { return fault.New(fault.Corrupt, "the index object is damaged") }
