package searchindex

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// A fuse map gives every hash that it was built from a number of 3 bits, and tells most others that they were not: a byte of it is the
// fingerprint's 5 bits above the number. It is a binary fuse filter (Graf and Lemire, 2022) of three places a hash, whose XOR is the byte.

const (
	sliceBits   = 3
	sliceMask   = 1<<sliceBits - 1
	maxAttempts = 100
	maxSegment  = 1 << 18
)

// fuseMap is a parsed map.
type fuseMap struct {
	seed    uint64
	segment uint32 // places of a segment, a power of two
	count   uint32 // of places in which the first of three can be, a multiple of segment
	table   []byte
}

// shape sets the sizes for so many hashes.
func (f *fuseMap) shape(hashes int) {
	n := float64(max(hashes, 2))
	f.segment = min(maxSegment, uint32(1)<<int(math.Floor(math.Log(n)/math.Log(3.33)+2.25)))
	factor := max(1.125, 0.875+0.25*math.Log(1e6)/math.Log(n))
	segments := (uint32(math.Round(n*factor)) + f.segment - 1) / f.segment
	f.count = max(segments, 3) - 2
	f.count *= f.segment
}

// places returns where the three bytes of a mixed hash are.
func (f *fuseMap) places(h uint64) (a, b, c uint32) {
	high, _ := bits.Mul64(h, uint64(f.count))
	a = uint32(high)
	b = (a + f.segment) ^ uint32(h>>18)&(f.segment-1)
	c = (a + 2*f.segment) ^ uint32(h)&(f.segment-1)
	return a, b, c
}

func (f *fuseMap) mix(hash uint64) uint64 {
	h := hash + f.seed
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// fingerprint is the upper bits of a byte of the map.
func fingerprint(mixed uint64) byte { return byte(mixed^mixed>>32) &^ sliceMask }

// slice returns the number of a hash, or false when it was certainly not among those that the map was built from.
func (f *fuseMap) slice(hash uint64) (uint8, bool) {
	h := f.mix(hash)
	a, b, c := f.places(h)
	v := f.table[a] ^ f.table[b] ^ f.table[c] ^ fingerprint(h)
	return v & sliceMask, v <= sliceMask
}

// fuseBuilder builds maps and keeps its memory from one to the next.
type fuseBuilder struct {
	fuseMap
	count  []uint8  // by place: four times the hashes that have it, plus the XOR of which of their three places it is
	hashes []uint64 // by place: the XOR of those hashes
	values []uint8  // by place: the XOR of their numbers
	alone  []uint32 // places of one hash
	order  []peeled
}

// peeled is a hash that was taken out because a place was its own.
type peeled struct {
	hash  uint64
	value uint8
	which uint8 // of its places
}

// append appends the map of hashes, which differ from each other, to dst. It is false when its construction gave up.
func (f *fuseBuilder) append(dst []byte, hashes []uint64, numbers []uint8) ([]byte, bool) {
	f.shape(len(hashes))
	size := int(f.fuseMap.count + 2*f.segment)
	f.count, f.hashes, f.values = fit(f.count, size), fit(f.hashes, size), fit(f.values, size)
	f.seed = 0x9e3779b97f4a7c15
	for range maxAttempts {
		if f.peel(hashes, numbers) {
			return f.assign(dst, size), true
		}
		f.seed = f.mix(f.seed + 1)
	}
	return dst, false
}

func fit[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// peel takes out, again and again, a hash that has a place to itself, until none is left.
func (f *fuseBuilder) peel(hashes []uint64, numbers []uint8) bool {
	clear(f.count)
	clear(f.hashes)
	clear(f.values)
	f.alone, f.order = f.alone[:0], f.order[:0]
	for i, hash := range hashes {
		h := f.mix(hash)
		a, b, c := f.places(h)
		for which, at := range [3]uint32{a, b, c} {
			if f.count[at] >= 0xfc {
				return false // more than can be counted
			}
			f.add(at, h, numbers[i], uint8(which))
			f.count[at] += 4
		}
	}
	for at, n := range f.count {
		if n>>2 == 1 {
			f.alone = append(f.alone, uint32(at))
		}
	}
	for len(f.alone) > 0 {
		at := f.alone[len(f.alone)-1]
		f.alone = f.alone[:len(f.alone)-1]
		if f.count[at]>>2 != 1 {
			continue // its hash went meanwhile
		}
		p := peeled{hash: f.hashes[at], value: f.values[at], which: f.count[at] & 3}
		f.order = append(f.order, p)
		a, b, c := f.places(p.hash)
		for which, at := range [3]uint32{a, b, c} {
			f.add(at, p.hash, p.value, uint8(which))
			f.count[at] -= 4
			if f.count[at]>>2 == 1 {
				f.alone = append(f.alone, at)
			}
		}
	}
	return len(f.order) == len(hashes)
}

// add puts a hash to a place, or takes it away.
func (f *fuseBuilder) add(at uint32, hash uint64, value, which uint8) {
	f.count[at] ^= which
	f.hashes[at] ^= hash
	f.values[at] ^= value
}

// assign writes the table: the place that was a hash's own when it was taken out is free to make its XOR right.
func (f *fuseBuilder) assign(dst []byte, size int) []byte {
	dst = append(dst, kindFuseMap)
	dst = binary.LittleEndian.AppendUint64(dst, f.seed)
	dst = binary.LittleEndian.AppendUint32(dst, f.segment)
	dst = binary.LittleEndian.AppendUint32(dst, f.fuseMap.count)
	start := len(dst)
	dst = append(dst, make([]byte, size)...)
	table := dst[start:]
	for _, p := range slices.Backward(f.order) {
		a, b, c := f.places(p.hash)
		at := [3]uint32{a, b, c}[p.which]
		table[at] = 0
		table[at] = table[a] ^ table[b] ^ table[c] ^ fingerprint(p.hash) ^ p.value
	}
	return dst
}

const fuseMapHead = 8 + 2*4

func parseFuseMap(b []byte) (*fuseMap, error) {
	if len(b) < fuseMapHead {
		return nil, errDamaged()
	}
	le := binary.LittleEndian
	f := &fuseMap{seed: le.Uint64(b), segment: le.Uint32(b[8:]), count: le.Uint32(b[12:]), table: b[fuseMapHead:]}
	if f.segment == 0 || f.count == 0 || f.segment&(f.segment-1) != 0 || f.count%f.segment != 0 ||
		uint64(len(f.table)) != uint64(f.count)+2*uint64(f.segment) {
		return nil, errDamaged()
	}
	return f, nil
}
