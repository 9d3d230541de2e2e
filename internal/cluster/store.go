package cluster

import (
	"context"
	"time"

	"github.com/millstream/millstream/internal/fault"
)

// ErrSuperseded is returned when the heartbeat row of a node id belongs to another incarnation: another process runs under this id.
var ErrSuperseded = fault.New(fault.Conflict, "another process holds this node id")

// ErrSchema is returned when the cluster's tables are of another version than the one this program knows.
var ErrSchema = fault.New(fault.Internal, "the schema of the cluster's tables is not the one this program knows")

// SilentRowsFor is how long the row of a silent node is kept for those who ask what became of it.
const SilentRowsFor = 5 * time.Minute

// DrainsFor is how long a drain is remembered after the last word of its node.
const DrainsFor = 7 * 24 * time.Hour

// Store keeps heartbeats and the view. Every decision about time is made by the store's own clock, which is the database's.
// Methods may be called concurrently. Errors of a store that cannot be reached are of kind Unavailable; every method may then be
// called again.
type Store interface {
	// Claim makes the heartbeat row of n's id n's own, not ready yet. It succeeds when there is no such row, when it is of n's
	// incarnation, when it has been silent for a peer timeout, or when it is of the incarnation replaces, which the caller knows to
	// be dead (0: none). The slots of the row's last owner stay with the id. Otherwise claimed is false and holder is who has it.
	Claim(ctx context.Context, n Node, replaces int64) (holder Status, claimed bool, err error)

	// Beat writes a heartbeat, and the row when there is none. It reports whether a drain of this incarnation was asked for. It
	// returns ErrSuperseded when the row belongs to another incarnation.
	Beat(ctx context.Context, hb Heartbeat) (drain bool, err error)

	// Leave deletes the row of this incarnation. It is no error when there is none, or when the id belongs to another one.
	Leave(ctx context.Context, id string, incarnation int64) error

	// Sweep deletes rows that were silent for SilentRowsFor and returns how many. While the store has not been reachable for one peer
	// timeout without a pause it deletes none: it was the store that was silent.
	Sweep(ctx context.Context) (int, error)

	// Observe computes who is a member now, writes a new view when that differs from the last, and returns the view that is stored.
	// The epoch of a new view is greater than known, which is the caller's last one, also when the store has lost that.
	Observe(ctx context.Context, known int64) (*View, error)

	// Statuses returns every row, silent ones too, ordered by id.
	Statuses(ctx context.Context) ([]Status, error)

	// RequestDrain asks the node of this id to drain. A second request returns the first one's state. An id without a live node and
	// without an unfinished drain is an error of kind NotFound.
	RequestDrain(ctx context.Context, id string) (Drain, error)

	// ReportDrain records how far a drain has come, and its end. Without a request of this incarnation it does nothing.
	ReportDrain(ctx context.Context, id string, incarnation int64, p Progress, ended bool) error

	// Drains returns the last drain of each node, ordered by id. They are kept for DrainsFor.
	Drains(ctx context.Context) ([]Drain, error)
}

// LeaseFor is how long a lease lasts when its holder does not release it: a crash, or a run that takes longer.
const LeaseFor = 10 * time.Minute

// LeaseKey names what a lease is about.
type LeaseKey struct {
	Work string // kind of work
	Item string // what it is done to
}

// Lease is the right to work on an item until it expires.
type Lease struct {
	LeaseKey

	Holder  string    // node id
	Token   string    // tells this lease from a later one of the same holder
	Expires time.Time // by the database's clock
}

// Leases hands out rights to work on items, one holder at a time. Methods may be called concurrently.
type Leases interface {
	// Acquire takes the lease of an item for LeaseFor. ok is false when somebody holds it, the same holder included.
	Acquire(ctx context.Context, key LeaseKey, holder string) (lease Lease, ok bool, err error)

	// Release gives a lease back. One that expired meanwhile stays with whoever took it over.
	Release(ctx context.Context, lease Lease) error
}
