package cluster

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"time"

	"github.com/millstream/millstream/internal/cluster/slot"
)

// Topology is the document that clients and tools read: who the members are and which intake node owns which slot
// (facts of routing 4.3). One epoch is one document, but for the time it was read.
type Topology struct {
	Version int            `json:"version"` // of the document
	Epoch   int64          `json:"epoch"`
	ViewAt  time.Time      `json:"viewAt"`
	Slots   int            `json:"slots"`
	KeyHash string         `json:"keyHash"`
	Algo    int            `json:"algo"`
	Nodes   []TopologyNode `json:"nodes"`
	// Owners gives the place in Intakes of each slot's owner; absent without intake members.
	Owners  *TopologyOwners `json:"owners,omitempty"`
	Intakes []string        `json:"intakes"` // ids of the intake members, sorted
}

// TopologyNode is a node as the document shows it.
type TopologyNode struct {
	ID          string `json:"id"`
	Incarnation int64  `json:"incarnation"`
	Roles       []Role `json:"roles"`
	Active      []Role `json:"active"` // roles that it is a member of
	State       State  `json:"state"`
	Address     string `json:"address,omitempty"`
	HTTPAddress string `json:"http_address,omitempty"`
	Version     string `json:"version,omitempty"`
}

// TopologyOwners is an array of indices, one a slot.
type TopologyOwners struct {
	// Enc names how Data is made: base64 of a byte a slot (u8), or of two, high byte first (u16be) with more than 256 intake members.
	Enc  string `json:"enc"`
	Data string `json:"data"`
}

// NewTopology writes a view as a document.
func NewTopology(v *View, at time.Time) Topology {
	t := Topology{
		Version: 1, Epoch: v.Epoch, ViewAt: at.UTC(), Slots: slot.Count, KeyHash: "crc16-xmodem", Algo: v.Algo,
		Nodes: make([]TopologyNode, 0, len(v.listed)), Intakes: make([]string, 0, len(v.Members[RoleIntake])),
	}
	states := v.Nodes()
	for i, l := range v.listed {
		t.Nodes = append(t.Nodes, TopologyNode{
			ID: l.ID, Incarnation: l.Incarnation, Roles: l.Roles, Active: l.Active, State: states[i].State,
			Address: l.Address, HTTPAddress: l.HTTPAddress, Version: l.Version,
		})
	}
	for _, n := range v.Members[RoleIntake] {
		t.Intakes = append(t.Intakes, n.ID)
	}
	if owners := v.OwnerIndex(); owners != nil {
		t.Owners = encodeOwners(owners, len(t.Intakes))
	}
	return t
}

func encodeOwners(owners []uint16, members int) *TopologyOwners {
	if members > math.MaxUint8+1 {
		data := make([]byte, 0, 2*len(owners))
		for _, o := range owners {
			data = binary.BigEndian.AppendUint16(data, o)
		}
		return &TopologyOwners{Enc: "u16be+base64", Data: base64.StdEncoding.EncodeToString(data)}
	}
	data := make([]byte, len(owners))
	for i, o := range owners {
		data[i] = byte(o)
	}
	return &TopologyOwners{Enc: "u8+base64", Data: base64.StdEncoding.EncodeToString(data)}
}

// SlotShare is how much of the slots one intake node owns.
type SlotShare struct {
	Node  string  `json:"node"`
	Slots int     `json:"slots"`
	Share float64 `json:"share"` // of all slots
}

// Shares counts the slots of each intake member, by id.
func (v *View) Shares() []SlotShare {
	members := v.Members[RoleIntake]
	out := make([]SlotShare, len(members))
	for i, m := range members {
		out[i].Node = m.ID
	}
	for _, o := range v.OwnerIndex() {
		out[o].Slots++
	}
	for i := range out {
		out[i].Share = float64(out[i].Slots) / slot.Count
	}
	return out
}
