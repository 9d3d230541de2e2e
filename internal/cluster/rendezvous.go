package cluster

import (
	"cmp"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Algo is the number of the placement algorithm of this file and of package slot. It stands in the view, so that it can change for
// everyone at one epoch.
const Algo = 1

// Score returns the weight of a node for a slot: XXH64, seed 0, of the id, a zero byte and the slot in two bytes, high byte first.
// The node with the greatest unsigned score owns the slot; of equal scores the smaller id wins.
func Score(id string, slot uint16) uint64 {
	return score(id, byte(slot>>8), byte(slot))
}

// Rank returns the first n of ids in the order in which they own the slot, all of them when there are fewer. The second is the next
// owner when the first leaves. ids are distinct, in any order, and are not changed.
func Rank(ids []string, slot uint16, n int) []string {
	ranked := make([]scored, len(ids))
	for i, id := range ids {
		ranked[i] = scored{id, Score(id, slot)}
	}
	slices.SortFunc(ranked, order)
	out := make([]string, min(n, len(ranked)))
	for i := range out {
		out[i] = ranked[i].id
	}
	return out
}

// Owner returns the id that owns a unit of work, "" when there are no ids. The score is that of Score with the unit's bytes in place
// of the slot's. A node that joins or leaves changes the owner of its own units alone.
func Owner(ids []string, unit string) string {
	var best scored
	for i, id := range ids {
		if s := (scored{id, score(id, []byte(unit)...)}); i == 0 || order(s, best) < 0 {
			best = s
		}
	}
	return best.id
}

type scored struct {
	id    string
	score uint64
}

// order sorts the greatest score first, then the smaller id.
func order(a, b scored) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id))
}

func score(id string, unit ...byte) uint64 {
	var room [96]byte // ids and most units are shorter
	text := append(room[:0], id...)
	text = append(text, 0)
	return xxhash.Sum64(append(text, unit...))
}
