package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millstream/millstream/internal/cluster"
)

// releaseWithin bounds the release of a lease when the work's context has ended.
const releaseWithin = 5 * time.Second

// Leases hands out leases to this node. The zero value is not usable.
type Leases struct {
	store cluster.Leases
	self  string
}

// NewLeases returns the leases that the node self takes.
func NewLeases(store cluster.Leases, self string) *Leases { return &Leases{store: store, self: self} }

// Lease is the right to work on an item for cluster.LeaseFor.
type Lease struct {
	leases *Leases
	lease  cluster.Lease
}

// Expires returns when the lease ends by itself, by the database's clock.
func (l Lease) Expires() time.Time { return l.lease.Expires }

// Acquire takes the lease of an item. ok is false while it is held, here or elsewhere. A crashed holder's lease can be taken when it has
// expired; so can one whose work takes longer, and that item is then run twice.
func (l *Leases) Acquire(ctx context.Context, kind, item string) (lease Lease, ok bool, err error) {
	taken, ok, err := l.store.Acquire(ctx, cluster.LeaseKey{Work: kind, Item: item}, l.self)
	if err != nil {
		return Lease{}, false, fmt.Errorf("acquire the lease of %s %s: %w", kind, item, err)
	}
	return Lease{leases: l, lease: taken}, ok, nil
}

// Release gives the lease back at the end of the work, also when ctx has ended. A lease that is not given back expires.
func (l Lease) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
	defer cancel()
	if err := l.leases.store.Release(ctx, l.lease); err != nil {
		return fmt.Errorf("release the lease of %s %s: %w", l.lease.Work, l.lease.Item, err)
	}
	return nil
}

// Do runs do while it holds the lease of an item. ran is false when somebody else holds it.
func (l *Leases) Do(ctx context.Context, kind, item string, do func(ctx context.Context) error) (ran bool, err error) {
	lease, ok, err := l.Acquire(ctx, kind, item)
	if !ok {
		return false, err
	}
	defer func() { err = errors.Join(err, lease.Release(ctx)) }()
	return true, do(ctx)
}
