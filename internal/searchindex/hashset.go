package searchindex

// hashSet collects distinct hashes with the slice of each, AnySlice once they were added with two. It keeps its memory over reset, since
// row groups are alike. The zero hash is added as another: to take one for the other admits too much, never too little.
type hashSet struct {
	slots  []uint64 // open addressing, 0 is empty; a power of two long
	slices []uint8  // by slot
	list   []uint64 // what was added, in order
}

const minSlots = 1 << 10

func (s *hashSet) add(h uint64, slice uint8) {
	h = nonZero(h)
	if len(s.list)*2 >= len(s.slots) {
		s.grow()
	}
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case h:
			if s.slices[i] != slice {
				s.slices[i] = AnySlice
			}
			return
		case 0:
			s.slots[i], s.slices[i] = h, slice
			s.list = append(s.list, h)
			return
		}
	}
}

func nonZero(h uint64) uint64 {
	if h == 0 {
		return 1
	}
	return h
}

// appendSlices appends the slices of the hashes of the list, in their order.
func (s *hashSet) appendSlices(dst []uint8) []uint8 {
	mask := uint64(len(s.slots) - 1)
	for _, h := range s.list {
		i := h & mask
		for s.slots[i] != h {
			i = (i + 1) & mask
		}
		dst = append(dst, s.slices[i])
	}
	return dst
}

func (s *hashSet) grow() {
	slots, slices := s.slots, s.slices
	s.slots = make([]uint64, max(minSlots, 2*len(slots)))
	s.slices = make([]uint8, len(s.slots))
	mask := uint64(len(s.slots) - 1)
	for at, h := range slots {
		if h == 0 {
			continue
		}
		i := h & mask
		for s.slots[i] != 0 {
			i = (i + 1) & mask
		}
		s.slots[i], s.slices[i] = h, slices[at]
	}
}

// reset empties the set.
func (s *hashSet) reset() {
	if len(s.list) < len(s.slots)/16 {
		mask := uint64(len(s.slots) - 1)
		for _, h := range s.list {
			s.clearRun(h&mask, mask)
		}
	} else {
		clear(s.slots)
	}
	s.list = s.list[:0]
}

// clearRun empties the run of taken slots from i on, which holds every hash whose home is i.
func (s *hashSet) clearRun(i, mask uint64) {
	for s.slots[i] != 0 {
		s.slots[i] = 0
		i = (i + 1) & mask
	}
}
