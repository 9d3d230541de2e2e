package cluster

import (
	"regexp"
	"slices"
	"time"

	"github.com/millstream/millstream/internal/fault"
)

// Role is what a node does, written as node.roles of the configuration writes it.
type Role string

// The roles. Standalone is everything in one process.
const (
	RoleStandalone Role = "standalone"
	RoleRouter     Role = "router"
	RoleIntake     Role = "intake"
	RoleQuerier    Role = "querier"
	RoleCompactor  Role = "compactor"
	RoleAlert      Role = "alert"
)

// Roles returns all roles, in the order of the documentation.
func Roles() []Role {
	return []Role{RoleStandalone, RoleRouter, RoleIntake, RoleQuerier, RoleCompactor, RoleAlert}
}

// State is how far a node has come.
type State string

// The states.
const (
	StateJoining State = "joining" // replays its log, or has not stood for one peer timeout
	StateActive  State = "active"  // a member
	StateSilent  State = "silent"  // no heartbeat for a peer timeout
)

// Node is one process of the cluster.
type Node struct {
	ID          string `json:"id"`                     // unique among live nodes
	Incarnation int64  `json:"incarnation"`            // one a start, greater at every start: the writer epoch of the catalog
	Roles       []Role `json:"roles"`                  // as configured
	Address     string `json:"address,omitempty"`      // host:port of the internal gRPC listener
	HTTPAddress string `json:"http_address,omitempty"` // host:port of the HTTP listener
	Version     string `json:"version,omitempty"`      // of the program
	// QuerySlots is how many queries the node runs at once (querier.concurrency); 0 when it runs none or does not say.
	QuerySlots int   `json:"query_slots,omitempty"`
	State      State `json:"state,omitempty"`
}

// MemberOf returns the roles whose member lists the node stands in: its own, and compactor and alert for a standalone node, which
// takes its share of their work but serves nobody's rows and queries except its own clients'.
func (n Node) MemberOf() []Role {
	if slices.Contains(n.Roles, RoleStandalone) {
		return []Role{RoleStandalone, RoleCompactor, RoleAlert}
	}
	return n.Roles
}

// idPattern is what a node may be called: short, printable, safe in paths, headers and metrics.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// CheckID returns an error of kind Invalid unless id may name a node.
func CheckID(id string) error {
	if !idPattern.MatchString(id) {
		return fault.New(fault.Invalid, "node id %q: want a letter or digit, then at most 62 letters, digits, dots, underscores or dashes", id)
	}
	return nil
}

// Progress is what a node tells about its way in (replay) or out (drain).
type Progress struct {
	Phase         string `json:"phase,omitempty"` // in a word or two, such as "replaying" or "flushing"
	UnflushedRows int64  `json:"unflushed_rows"`
}

// Heartbeat is what a node says of itself at every interval.
type Heartbeat struct {
	Node
	Progress

	Ready bool // false while it replays its log: alive, but no member
}

// Status is a node as the store knows it, member or not. Times are the database's.
type Status struct {
	Node // State is active once ready; whether it is a member says the view
	Progress

	Started     time.Time     `json:"started"`      // first heartbeat of this incarnation
	HeartbeatAt time.Time     `json:"heartbeat_at"` // last one
	Silence     time.Duration `json:"-"`            // since the last one, by the database's clock
}

// Drain is the order to drain a node, and how far it has come. It outlives the node's heartbeat row.
type Drain struct {
	Node        string `json:"node"`
	Incarnation int64  `json:"incarnation"`
	Progress

	Requested time.Time `json:"requested"`
	Updated   time.Time `json:"updated"`        // last word of the node; Requested before the first
	Ended     time.Time `json:"ended,omitzero"` // zero until nothing is left to flush
}
