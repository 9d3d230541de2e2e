package parquetfile

import (
	"encoding/binary"
	"math/bits"
)

// appendHybrid appends values of width bits (1 to 32) in Parquet's mixture of run lengths and bit packing.
func appendHybrid(dst []byte, values []uint32, width int) []byte {
	literal := 0 // values from here to i are not written yet, a multiple of eight of them
	i := 0
	for i < len(values) {
		n := runLength(values[i:])
		if n < 8 {
			i = min(i+8, len(values))
			continue
		}
		dst = appendLiterals(dst, values[literal:i], width)
		dst = binary.AppendUvarint(dst, uint64(n)<<1)
		for b := range (width + 7) / 8 {
			dst = append(dst, byte(values[i]>>(8*b)))
		}
		i += n
		literal = i
	}
	return appendLiterals(dst, values[literal:], width)
}

func runLength(values []uint32) int {
	n := 1
	for n < len(values) && values[n] == values[0] {
		n++
	}
	return n
}

// appendLiterals appends one bit-packed run, its last group of eight filled up with zeros.
func appendLiterals(dst []byte, values []uint32, width int) []byte {
	if len(values) == 0 {
		return dst
	}
	groups := (len(values) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	var acc uint64
	var filled int
	for _, v := range values {
		acc |= uint64(v) << filled
		filled += width
		if filled >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(acc))
			acc >>= 32
			filled -= 32
		}
	}
	for ; filled > 0; filled -= 8 {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	for n := (len(values)*width + 7) / 8; n < groups*width; n++ {
		dst = append(dst, 0)
	}
	return dst
}

const (
	deltaBlock = 128
	deltaMini  = 32
)

// appendDelta appends values in DELTA_BINARY_PACKED.
func appendDelta(dst []byte, values []int64) []byte {
	dst = binary.AppendUvarint(dst, deltaBlock)
	dst = binary.AppendUvarint(dst, deltaBlock/deltaMini)
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	if len(values) == 0 {
		return binary.AppendVarint(dst, 0)
	}
	dst = binary.AppendVarint(dst, values[0])
	var deltas [deltaBlock]int64
	for last, rest := values[0], values[1:]; len(rest) > 0; {
		n := min(len(rest), deltaBlock)
		least := rest[0] - last
		for i, v := range rest[:n] {
			deltas[i] = v - last
			least = min(least, deltas[i])
			last = v
		}
		dst = appendDeltaBlock(dst, deltas[:n], least)
		rest = rest[n:]
	}
	return dst
}

func appendDeltaBlock(dst []byte, deltas []int64, least int64) []byte {
	dst = binary.AppendVarint(dst, least)
	widths := len(dst)
	dst = append(dst, make([]byte, deltaBlock/deltaMini)...)
	for m := 0; m*deltaMini < len(deltas); m++ {
		mini := deltas[m*deltaMini : min(len(deltas), (m+1)*deltaMini)]
		var all uint64
		for _, d := range mini {
			all |= uint64(d - least)
		}
		width := bits.Len64(all)
		dst[widths+m] = byte(width)
		dst = appendPacked64(dst, mini, least, width)
	}
	return dst
}

// appendPacked64 appends one miniblock: 32 values less least, of width bits each, missing ones as zero.
func appendPacked64(dst []byte, mini []int64, least int64, width int) []byte {
	start := len(dst)
	var acc uint64
	var filled int
	for _, d := range mini {
		v := uint64(d - least)
		acc |= v << filled
		if filled+width >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, acc)
			acc = v >> (64 - filled) // a shift by 64 gives 0, as wanted
			filled += width - 64
			continue
		}
		filled += width
	}
	for ; filled > 0; filled -= 8 {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	for len(dst) < start+deltaMini*width/8 {
		dst = append(dst, 0)
	}
	return dst
}
