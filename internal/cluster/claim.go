package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millstream/millstream/internal/fault"
)

// Claim makes this node's id its own before Run. When another process has a fresh heartbeat under the id, Claim takes over at once if
// holdsLockOf says that this process holds the lock of the data directory which that incarnation wrote, so that it is dead. Otherwise
// it waits until the heartbeat is stale. When the other one goes on beating for two peer timeouts (one in which a dead process would
// have fallen silent, and a further one) Claim gives up with ErrSuperseded. While the database cannot be reached it waits.
func (m *Membership) Claim(ctx context.Context, holdsLockOf func(incarnation int64) bool) error {
	var seen time.Time // since when the other process is known to be there
	for {
		holder, claimed, err := m.claim(ctx, holdsLockOf)
		switch {
		case claimed:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("claim node id %s: %w", m.o.Self.ID, ctx.Err())
		case err != nil && !fault.Is(err, fault.Unavailable) && !errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("claim node id %s: %w", m.o.Self.ID, err)
		case err != nil:
			m.failed(ctx, "claim", err)
			seen = time.Time{}
		case seen.IsZero():
			seen = m.o.Clock.Now()
			m.o.Logger.WarnContext(ctx, "another process holds this node id; waiting until it falls silent",
				"node", m.o.Self.ID, "its_incarnation", holder.Incarnation, "its_address", holder.Address)
		case m.o.Clock.Now().Sub(seen) >= 2*m.o.PeerTimeout:
			return m.supersededBy(holder)
		}
		select {
		case <-ctx.Done():
		case <-m.o.Clock.After(m.retryEvery()):
		}
	}
}

func (m *Membership) claim(ctx context.Context, holdsLockOf func(int64) bool) (holder Status, claimed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.callTimeout())
	defer cancel()
	holder, claimed, err = m.store.Claim(ctx, m.o.Self, 0)
	if err == nil && !claimed && holdsLockOf != nil && holdsLockOf(holder.Incarnation) {
		holder, claimed, err = m.store.Claim(ctx, m.o.Self, holder.Incarnation)
	}
	m.metrics.called("claim", err)
	return holder, claimed, err
}

// reclaim is the answer to a heartbeat that found the row in another process's hands: this process was silent for long, or two run
// under one id. It tries to get the row back once the other has fallen silent and gives up after a peer timeout.
func (m *Membership) reclaim(ctx context.Context) error {
	holder, claimed, err := m.claim(ctx, nil)
	if claimed {
		m.setSuperseded(time.Time{})
		m.beatNow()
		return nil
	}
	if err != nil {
		m.failed(ctx, "claim", err)
		return nil
	}
	switch since := m.supersededSince(); {
	case since.IsZero():
		m.setSuperseded(m.o.Clock.Now())
		m.o.Logger.ErrorContext(ctx, "another process has taken this node id; every node needs an id of its own",
			"node", m.o.Self.ID, "its_incarnation", holder.Incarnation, "its_address", holder.Address)
		return nil
	case m.o.Clock.Now().Sub(since) < m.o.PeerTimeout:
		return nil
	default:
		return m.supersededBy(holder)
	}
}

func (m *Membership) supersededBy(holder Status) error {
	return fmt.Errorf("%w: %s is also the id of the process at %s (incarnation %d, last heartbeat %s), which goes on beating; "+
		"give every node an id of its own", ErrSuperseded, m.o.Self.ID, holder.Address, holder.Incarnation,
		holder.HeartbeatAt.UTC().Format(time.RFC3339))
}

// Superseded reports whether another process holds this node's id, so that this one is no member.
func (m *Membership) Superseded() bool { return !m.supersededSince().IsZero() }

func (m *Membership) supersededSince() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.superseded
}

func (m *Membership) setSuperseded(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.superseded = at
}
