package allocate

import (
	"cmp"
	"slices"
)

// Fill divides limit among wants, whose order breaks ties: rows that are left over by rounding go to the first ones. Every share is at
// least 1. What nobody wants is divided equally.
func Fill(limit uint64, wants []uint64) []uint64 {
	n := uint64(len(wants))
	shares := make([]uint64, n)
	if n == 0 {
		return shares
	}
	if limit <= n {
		for i := range shares {
			shares[i] = 1
		}
		return shares
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(wants[a], wants[b]) })
	left := limit
	for met, i := range order {
		rest := order[met:]
		want := max(wants[i], 1)
		if want > left/uint64(len(rest)) {
			spread(shares, rest, left)
			return shares
		}
		shares[i] = want
		left -= want
	}
	spare(shares, wants, left)
	return shares
}

// spread divides amount equally among the shares at the places, the first places having what is left over.
func spread(shares []uint64, places []int, amount uint64) {
	places = slices.Sorted(slices.Values(places))
	each, more := amount/uint64(len(places)), amount%uint64(len(places))
	for k, i := range places {
		shares[i] += each
		if uint64(k) < more {
			shares[i]++
		}
	}
}

// spare adds what is left after every want was met: equally, where the 1 that a frontend without a want has already counts as part of it.
func spare(shares, wants []uint64, left uint64) {
	var all, wanting []int
	idle := uint64(0)
	for i, want := range wants {
		all = append(all, i)
		if want == 0 {
			idle++
			continue
		}
		wanting = append(wanting, i)
	}
	if left+idle >= uint64(len(wants)) {
		copy(shares, wants)
		spread(shares, all, left+idle)
		return
	}
	spread(shares, wanting, left)
}
