package searchindex

import (
	"encoding/binary"
	"slices"

	"github.com/FastFilter/xorfilter"

	"github.com/millstream/millstream/internal/fault"
)

// Kinds of filters, the first byte of each.
const (
	kindAll  = 0 // matches everything
	kindList = 1 // sorted hashes, 8 bytes each
	kindFuse = 2 // a binary fuse filter of 8-bit fingerprints
)

// listMax is how many hashes are listed instead of filtered: below it a fuse filter is larger than it saves.
const listMax = 24

const fuseHead = 8 + 4*4 // seed, segment length, mask, count, count length

// appendFilter appends a filter over the hashes, which it may reorder and which hold no hash twice.
func appendFilter(dst []byte, hashes []uint64, builder *xorfilter.BinaryFuseBuilder) []byte {
	if len(hashes) <= listMax {
		slices.Sort(hashes)
		dst = append(dst, kindList)
		for _, h := range hashes {
			dst = binary.LittleEndian.AppendUint64(dst, h)
		}
		return dst
	}
	f, err := xorfilter.BuildBinaryFuse[uint8](builder, hashes)
	if err != nil {
		return append(dst, kindAll) // its construction gave up, which is not to be expected
	}
	dst = append(dst, kindFuse)
	dst = binary.LittleEndian.AppendUint64(dst, f.Seed)
	for _, n := range []uint32{f.SegmentLength, f.SegmentLengthMask, f.SegmentCount, f.SegmentCountLength} {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return append(dst, f.Fingerprints...)
}

// contains reports whether the filter admits all hashes. It does not copy the filter.
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
