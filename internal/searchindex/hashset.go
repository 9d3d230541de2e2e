package searchindex

// hashSet collects distinct hashes. It keeps its memory over reset, since row groups are alike. The zero hash is kept apart.
type hashSet struct {
	slots []uint64 // open addressing, 0 is empty; a power of two long
	list  []uint64 // what was added, in order
	zero  bool
}

const minSlots = 1 << 10

func (s *hashSet) add(h uint64) {
	if h == 0 {
		if !s.zero {
			s.zero = true
			s.list = append(s.list, 0)
		}
		return
	}
	if len(s.list)*2 >= len(s.slots) {
		s.grow()
	}
	mask := uint64(len(s.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case h:
			return
		case 0:
			s.slots[i] = h
			s.list = append(s.list, h)
			return
		}
	}
}

func (s *hashSet) grow() {
	s.slots = make([]uint64, max(minSlots, 2*len(s.slots)))
	mask := uint64(len(s.slots) - 1)
	for _, h := range s.list {
		if h == 0 {
			continue
		}
		i := h & mask
		for s.slots[i] != 0 {
			i = (i + 1) & mask
		}
		s.slots[i] = h
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
	s.list, s.zero = s.list[:0], false
}

// clearRun empties the run of taken slots from i on, which holds every hash whose home is i.
func (s *hashSet) clearRun(i, mask uint64) {
	for s.slots[i] != 0 {
		s.slots[i] = 0
		i = (i + 1) & mask
	}
}
