package parquetfile

import (
	"encoding/binary"
	"math"
)

// hybridRuns calls run with every run of a mixture of run lengths and bit packing: n times one value, or n packed values of width bits,
// which begin at the first byte of packed. It reports whether exactly n values stand in data; bytes behind them are not looked at.
func hybridRuns(data []byte, width, n int, run func(count int, value uint32, packed []byte)) bool {
	for n > 0 {
		head, size := binary.Uvarint(data)
		if size <= 0 || head>>1 == 0 {
			return false
		}
		data = data[size:]
		if head&1 == 0 {
			bytes := (width + 7) / 8
			if len(data) < bytes || head>>1 > uint64(n) {
				return false
			}
			var value uint32
			for i, b := range data[:bytes] {
				value |= uint32(b) << (8 * i)
			}
			data = data[bytes:]
			run(int(head>>1), value, nil)
			n -= int(head >> 1)
			continue
		}
		groups := head >> 1
		if groups > uint64(n+7)/8 || uint64(len(data)) < groups*uint64(width) {
			return false
		}
		count := min(n, int(groups)*8) // the last group is filled up
		packed := data[:int(groups)*width]
		data = data[len(packed):]
		run(count, 0, packed)
		n -= count
	}
	return true
}

// unpackHybrid fills dst.
func unpackHybrid(dst []uint32, data []byte, width int) bool {
	at := 0
	return hybridRuns(data, width, len(dst), func(count int, value uint32, packed []byte) {
		if packed == nil {
			for i := range dst[at : at+count] {
				dst[at+i] = value
			}
		} else {
			unpack32(dst[at:at+count], packed, width)
		}
		at += count
	})
}

// unpack32 reads packed values of at most 32 bits.
func unpack32(dst []uint32, packed []byte, width int) {
	mask := uint64(1)<<width - 1
	bit, i := 0, 0
	for ; i < len(dst) && bit/8+8 <= len(packed); i++ {
		dst[i] = uint32(binary.LittleEndian.Uint64(packed[bit/8:]) >> (bit % 8) & mask)
		bit += width
	}
	for ; i < len(dst); i++ {
		dst[i] = uint32(wordAt(packed, bit/8) >> (bit % 8) & mask)
		bit += width
	}
}

// wordAt reads up to eight bytes near the end.
func wordAt(b []byte, at int) uint64 {
	var word [8]byte
	if at < len(b) {
		copy(word[:], b[at:])
	}
	return binary.LittleEndian.Uint64(word[:])
}

// unpackDelta reads values in DELTA_BINARY_PACKED and returns what follows them. There must be as many as dst holds.
func unpackDelta(dst []int64, data []byte) (rest []byte, ok bool) {
	block, data, ok1 := uvarint(data)
	minis, data, ok2 := uvarint(data)
	count, data, ok3 := uvarint(data)
	value, data, ok4 := zigzag(data)
	if !ok1 || !ok2 || !ok3 || !ok4 || block != deltaBlock || minis != deltaBlock/deltaMini || count != uint64(len(dst)) {
		return nil, false
	}
	if len(dst) == 0 {
		return data, true
	}
	dst[0] = value
	for at := 1; at < len(dst); {
		var least int64
		if least, data, ok = zigzag(data); !ok || len(data) < deltaBlock/deltaMini {
			return nil, false
		}
		widths := data[:deltaBlock/deltaMini]
		data = data[len(widths):]
		for _, w := range widths {
			if at == len(dst) {
				break // no bytes stand for what is not there
			}
			width := int(w)
			if width > 64 || len(data) < deltaMini*width/8 {
				return nil, false
			}
			n := min(deltaMini, len(dst)-at)
			value = addDeltas(dst[at:at+n], data[:deltaMini*width/8], width, least, value)
			at += n
			data = data[deltaMini*width/8:]
		}
	}
	return data, true
}

// addDeltas reads one miniblock onto the value before it and returns the last.
func addDeltas(dst []int64, packed []byte, width int, least, value int64) int64 {
	if width == 0 {
		for i := range dst {
			value += least
			dst[i] = value
		}
		return value
	}
	mask := uint64(math.MaxUint64) >> (64 - width)
	for i := range dst {
		bit := i * width
		v := wordAt2(packed, bit/8) >> (bit % 8)
		if over := bit%8 + width - 64; over > 0 {
			v |= uint64(packed[bit/8+8]) << (width - over)
		}
		value += least + int64(v&mask)
		dst[i] = value
	}
	return value
}

func wordAt2(b []byte, at int) uint64 {
	if at+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[at:])
	}
	return wordAt(b, at)
}

func uvarint(data []byte) (uint64, []byte, bool) {
	v, n := binary.Uvarint(data)
	if n <= 0 {
		return 0, nil, false
	}
	return v, data[n:], true
}

func zigzag(data []byte) (int64, []byte, bool) {
	v, n := binary.Varint(data)
	if n <= 0 {
		return 0, nil, false
	}
	return v, data[n:], true
}
