package cluster_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/slot"
)

func intakeIDs(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("intake-", i)
	}
	return out
}

// viewOf returns a view whose intake members are the ids, given in any order.
func viewOf(ids ...string) *cluster.View {
	roles := []cluster.Role{cluster.RoleIntake}
	var listed []cluster.Listed
	for _, id := range ids {
		listed = append(listed, cluster.Listed{Node: cluster.Node{ID: id, Roles: roles}, Active: roles})
	}
	return cluster.NewView(1, cluster.Algo, listed)
}

// TestVectors pins the algorithm: the figures were computed by another program.
func TestVectors(t *testing.T) {
	t.Parallel()
	require.Equal(t, uint64(0x845744e4665e0178), cluster.Score("intake-0", 0))
	for _, c := range []struct {
		n      int
		hash   uint64 // of the owners' places as bytes, by slot
		shares []int
	}{
		{3, 0x8f79fd5fa30d9696, []int{5499, 5392, 5493}},
		{5, 0x21c8ad1ae0267af9, []int{3308, 3296, 3324, 3261, 3195}},
	} {
		shares, places := make([]int, c.n), make([]byte, 0, slot.Count)
		for _, place := range viewOf(intakeIDs(c.n)...).OwnerIndex() {
			shares[place]++
			places = append(places, byte(place))
		}
		require.Equal(t, c.shares, shares)
		require.Equal(t, c.hash, xxhash.Sum64(places), "%d nodes", c.n)
	}
	for s, want := range map[uint16][]string{
		0:     {"intake-1", "intake-0", "intake-3"},
		1:     {"intake-2", "intake-0", "intake-1"},
		866:   {"intake-3", "intake-1", "intake-2"},
		7314:  {"intake-3", "intake-0", "intake-1"},
		12182: {"intake-0", "intake-3", "intake-1"},
		16383: {"intake-2", "intake-4", "intake-3"},
	} {
		require.Equal(t, want, cluster.Rank(intakeIDs(5), s, 3), "slot %d", s)
	}
}

func TestOwnersAreRank(t *testing.T) {
	t.Parallel()
	members := intakeIDs(5)
	slices.Reverse(members)
	v := viewOf(members...)
	for _, n := range []int{0, 1, 3, 4, 5, 9} {
		for s := uint16(0); s < slot.Count; s += 97 {
			var got []string
			for _, owner := range v.Owners(s, n) {
				got = append(got, owner.ID)
				require.Equal(t, cluster.StateActive, owner.State)
			}
			require.ElementsMatch(t, cluster.Rank(intakeIDs(5), s, n), got)
			if n > 0 {
				require.Equal(t, cluster.Rank(intakeIDs(5), s, n), got, "slot %d", s)
			}
		}
	}
	require.Empty(t, viewOf().Owners(1, 3))
	require.Nil(t, viewOf().OwnerIndex())
	require.Empty(t, cluster.Rank(nil, 1, 3))
	require.Empty(t, cluster.Owner(nil, "x"))
}

// slotsOf returns the owner of each slot by id.
func slotsOf(ids []string) map[uint16]string {
	out := map[uint16]string{}
	v := viewOf(ids...)
	for s := range uint16(slot.Count) {
		out[s] = v.Owners(s, 1)[0].ID
	}
	return out
}

func TestJoiningMovesOnlyToTheNewNode(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 5, 10} {
		before, after := slotsOf(intakeIDs(n)), slotsOf(intakeIDs(n+1))
		moved := 0
		for s, owner := range after {
			if owner == before[s] {
				continue
			}
			moved++
			require.Equal(t, fmt.Sprint("intake-", n), owner, "slot %d moved between old nodes", s)
		}
		require.NotZero(t, moved)
	}
}

func TestLeavingMovesOnlyItsSlotsEachToItsSecond(t *testing.T) {
	t.Parallel()
	all := intakeIDs(5)
	before := slotsOf(all)
	for _, gone := range all {
		after := slotsOf(slices.DeleteFunc(slices.Clone(all), func(id string) bool { return id == gone }))
		for s, owner := range before {
			if owner == gone {
				owner = cluster.Rank(all, s, 2)[1]
			}
			require.Equal(t, owner, after[s], "slot %d after %s left", s, gone)
		}
	}
}

func TestTheHeirsOfANodeAreSpread(t *testing.T) {
	t.Parallel()
	all := intakeIDs(10)
	heirs := map[string]int{}
	for s := range uint16(slot.Count) {
		if r := cluster.Rank(all, s, 2); r[0] == "intake-4" {
			heirs[r[1]]++
		}
	}
	require.Len(t, heirs, 9, "every other node inherits something")
	for id, n := range heirs {
		require.Less(t, n, 2*slot.Count/10/9, "%s inherits too much", id)
	}
}

func TestOwnerOfAUnitUsesTheSameScore(t *testing.T) {
	t.Parallel()
	for s := uint16(0); s < slot.Count; s += 31 {
		unit := string(binary.BigEndian.AppendUint16(nil, s))
		require.Equal(t, cluster.Rank(intakeIDs(7), s, 1)[0], cluster.Owner(intakeIDs(7), unit))
	}
}
