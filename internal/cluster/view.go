package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/millstream/millstream/internal/cluster/slot"
)

// Listed is a node in the view.
type Listed struct {
	Node
	// Active holds the roles that the node is a member of; in the others of Node.MemberOf it is joining. Sorted.
	Active []Role `json:"active"`
	// Since is when the node came into the view without leaving it again, by the database's clock.
	Since time.Time `json:"since"`
}

// View is the list of members at one epoch. One epoch is one view, the same for all readers; it is never changed, so it may be shared
// and kept.
type View struct {
	Epoch   int64           // 0: nobody has been seen yet; then strictly growing
	Algo    int             // how slots and units are placed: Algo of this package
	Members map[Role][]Node // who does a role's work, ordered by id
	Joining map[Role][]Node // who will after one peer timeout, ordered by id; others leave them their share at once

	listed []Listed
	table  func() ownerTable
}

// fallbacks is how many owners a slot has in the table: the owner, and the two that are tried when it cannot be reached.
const fallbacks = 3

// ownerTable holds for each slot the places in Members[RoleIntake] of its first owners; fewer when there are fewer members.
type ownerTable [][]uint16

// NewView makes a view of its list, which it sorts by id and keeps.
func NewView(epoch int64, algo int, listed []Listed) *View {
	if listed == nil {
		listed = []Listed{} // as it reads when it was stored
	}
	slices.SortFunc(listed, func(a, b Listed) int { return cmp.Compare(a.ID, b.ID) })
	v := &View{Epoch: epoch, Algo: algo, Members: map[Role][]Node{}, Joining: map[Role][]Node{}, listed: listed}
	for _, l := range listed {
		for _, r := range l.MemberOf() {
			lists, state := v.Joining, StateJoining
			if slices.Contains(l.Active, r) {
				lists, state = v.Members, StateActive
			}
			n := l.Node
			n.State = state
			lists[r] = append(lists[r], n)
		}
	}
	v.table = sync.OnceValue(func() ownerTable { return makeTable(v.Members[RoleIntake]) })
	return v
}

// Listed returns the nodes of the view with what they are members of, ordered by id. The caller must not change it.
func (v *View) Listed() []Listed { return v.listed }

// Nodes returns every node of the view once, ordered by id. State is active when the node is a member of all its roles.
func (v *View) Nodes() []Node {
	out := make([]Node, len(v.listed))
	for i, l := range v.listed {
		out[i] = l.node()
	}
	return out
}

// node returns the node with its state.
func (l Listed) node() Node {
	n := l.Node
	n.State = StateActive
	if len(l.Active) < len(l.MemberOf()) {
		n.State = StateJoining
	}
	return n
}

// Node returns the node of an id, as Nodes does.
func (v *View) Node(id string) (n Node, ok bool) {
	i, ok := slices.BinarySearchFunc(v.listed, id, func(l Listed, id string) int { return cmp.Compare(l.ID, id) })
	if !ok {
		return n, false
	}
	return v.listed[i].node(), true
}

// Owners returns the first n intake members in the order in which they own the slot: the owner, then those to try when it cannot be
// reached, the next owner first. It is empty without intake members. The first call of a view computes the table of all slots (some
// milliseconds); later ones with n up to 3 look it up.
func (v *View) Owners(s uint16, n int) []Node {
	members := v.Members[RoleIntake]
	s %= slot.Count
	n = min(n, len(members))
	places := v.table()[s]
	if n > len(places) {
		places = rank(members, s, n)
	}
	out := make([]Node, n)
	for i := range out {
		out[i] = members[places[i]]
	}
	return out
}

// OwnerIndex returns for each slot the place of its owner in Members[RoleIntake], nil without intake members.
func (v *View) OwnerIndex() []uint16 {
	if len(v.Members[RoleIntake]) == 0 {
		return nil
	}
	out := make([]uint16, slot.Count)
	for s, owners := range v.table() {
		out[s] = owners[0]
	}
	return out
}

// WorkIDs returns the ids that a role's work is divided among, sorted: members and joining nodes, since those are left their share.
func (v *View) WorkIDs(r Role) []string {
	out := make([]string, 0, len(v.Members[r])+len(v.Joining[r]))
	for _, lists := range [][]Node{v.Members[r], v.Joining[r]} {
		for _, n := range lists {
			out = append(out, n.ID)
		}
	}
	slices.Sort(out)
	return out
}

// IsMember reports whether a node does a role's work.
func (v *View) IsMember(r Role, id string) bool {
	_, ok := slices.BinarySearchFunc(v.Members[r], id, func(n Node, id string) int { return cmp.Compare(n.ID, id) })
	return ok
}

// document is a view as text.
type document struct {
	Epoch  int64    `json:"epoch"`
	Algo   int      `json:"algo"`
	Listed []Listed `json:"nodes"`
}

// MarshalJSON writes the view: the same bytes for the same epoch, whoever writes.
func (v *View) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(document{v.Epoch, v.Algo, v.listed})
	if err != nil {
		return nil, fmt.Errorf("write view: %w", err)
	}
	return text, nil
}

func makeTable(members []Node) ownerTable {
	t := make(ownerTable, slot.Count)
	for s := range t {
		t[s] = rank(members, uint16(s), fallbacks)
	}
	return t
}

// rank returns the places of the first n owners of a slot.
func rank(members []Node, s uint16, n int) []uint16 {
	best := make([]scored, 0, n+1)
	places := make([]uint16, 0, n+1)
	for place, m := range members {
		c := scored{m.ID, Score(m.ID, s)}
		at, _ := slices.BinarySearchFunc(best, c, order)
		if at == n {
			continue
		}
		best = slices.Insert(best, at, c)
		places = slices.Insert(places, at, uint16(place))
		if len(best) > n {
			best, places = best[:n], places[:n]
		}
	}
	return places
}

// QueryShare returns how many queries one router may let run at once: the slots of all queriers, divided among the routers, at least 1. A
// querier that does not say how many it has counts as one.
func (v *View) QueryShare() int {
	slots := 0
	for _, n := range v.Members[RoleQuerier] {
		slots += max(n.QuerySlots, 1)
	}
	return max(slots/max(len(v.Members[RoleRouter]), 1), 1)
}
