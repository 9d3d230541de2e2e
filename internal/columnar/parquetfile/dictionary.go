package parquetfile

import (
	"hash/maphash"
	"math/bits"
)

// Dictionaries are given up when a sample shows that values hardly repeat.
const (
	dictSample     = 1024    // values looked at before the first judgement
	maxDictEntries = 1 << 16 // so that indexes take at most 16 bits
	maxDictBytes   = 1 << 20 // of texts in one dictionary
	emptySlot      = ^uint32(0)
)

// textDict maps texts to indexes in order of first sight. It is used again for every chunk.
type textDict struct {
	seed   maphash.Seed
	slots  []textSlot
	values []string
	index  []uint32
	bytes  int
}

type textSlot struct {
	hash uint32
	at   uint32 // index, emptySlot when free
}

func (d *textDict) init() { d.seed = maphash.MakeSeed() }

// build fills the dictionary from values. It is false when a dictionary does not pay.
func (d *textDict) build(values []string) bool {
	d.values, d.index, d.bytes = d.values[:0], d.index[:0], 0
	d.resetSlots(len(values))
	mask := uint32(len(d.slots) - 1)
	for i, v := range values {
		if i > 0 && v == values[i-1] {
			d.index = append(d.index, d.index[i-1])
			continue
		}
		h := uint32(maphash.String(d.seed, v))
		at := h & mask
		for d.slots[at].at != emptySlot && (d.slots[at].hash != h || d.values[d.slots[at].at] != v) {
			at = (at + 1) & mask
		}
		if d.slots[at].at == emptySlot {
			d.slots[at] = textSlot{hash: h, at: uint32(len(d.values))}
			d.values = append(d.values, v)
			d.bytes += len(v) + 4
		}
		d.index = append(d.index, d.slots[at].at)
		if i&(dictSample-1) == dictSample-1 && !mayPay(len(d.values), i+1, d.bytes) {
			return false
		}
	}
	return dictPays(len(d.values), len(values), d.bytes)
}

// mayPay judges a sample, in which a dictionary that pays in the end has not repeated much yet.
func mayPay(distinct, values, size int) bool {
	if values < 4*dictSample {
		return distinct <= values-values/8
	}
	return dictPays(distinct, values, size)
}

func dictPays(distinct, values, size int) bool {
	return distinct <= maxDictEntries && size <= maxDictBytes && (distinct*2 <= values || distinct == 1)
}

func (d *textDict) resetSlots(values int) {
	size := slotCount(values)
	if cap(d.slots) < size {
		d.slots = make([]textSlot, size)
	}
	d.slots = d.slots[:size]
	for i := range d.slots {
		d.slots[i].at = emptySlot
	}
}

// wordDict does the same for 64-bit values.
type wordDict struct {
	slots  []uint32
	values []uint64
	index  []uint32
}

func (d *wordDict) build(n int, value func(int) uint64) bool {
	d.values, d.index = d.values[:0], d.index[:0]
	d.resetSlots(n)
	shift := 64 - bits.Len(uint(len(d.slots)-1))
	mask := uint64(len(d.slots) - 1)
	for i := range n {
		v := value(i)
		at := v * 0x9e3779b97f4a7c15 >> shift
		for d.slots[at] != emptySlot && d.values[d.slots[at]] != v {
			at = (at + 1) & mask
		}
		if d.slots[at] == emptySlot {
			d.slots[at] = uint32(len(d.values))
			d.values = append(d.values, v)
		}
		d.index = append(d.index, d.slots[at])
		if i&(dictSample-1) == dictSample-1 && !mayPay(len(d.values), i+1, 0) {
			return false
		}
	}
	return wordsPay(len(d.values), n)
}

func wordsPay(distinct, values int) bool {
	return distinct <= maxDictEntries && (distinct*4 <= values || distinct == 1)
}

func (d *wordDict) resetSlots(values int) {
	size := slotCount(values)
	if cap(d.slots) < size {
		d.slots = make([]uint32, size)
	}
	d.slots = d.slots[:size]
	for i := range d.slots {
		d.slots[i] = emptySlot
	}
}

// slotCount returns a power of two that leaves half of the slots free: entries never pass half of the values, and the check
// comes every dictSample values.
func slotCount(values int) int {
	return 1 << bits.Len(uint(max(values, 2*dictSample)))
}
