package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
)

// DefaultPeerTimeout is how long a node may be silent before others go on without it.
const DefaultPeerTimeout = 15 * time.Second

// Options says who this process is and how fast the cluster moves. All nodes of a cluster have the same times.
type Options struct {
	Self              Node          // State is ignored
	HeartbeatInterval time.Duration // 0: 5 s
	PeerTimeout       time.Duration // 0: 15 s; at least twice HeartbeatInterval
	CacheFor          time.Duration // how old a view may be, 0: 2 s

	Clock      clock.Clock           // paces the process, decides nothing; nil: the machine's
	Logger     *slog.Logger          // nil: discard
	Registerer prometheus.Registerer // nil: no metrics
}

func (o Options) withDefaults() Options {
	if o.HeartbeatInterval == 0 {
		o.HeartbeatInterval = 5 * time.Second
	}
	if o.PeerTimeout == 0 {
		o.PeerTimeout = DefaultPeerTimeout
	}
	if o.CacheFor == 0 {
		o.CacheFor = 2 * time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	return o
}

func (o Options) validate() error {
	if err := CheckID(o.Self.ID); err != nil {
		return err
	}
	switch {
	case len(o.Self.Roles) == 0:
		return fault.New(fault.Invalid, "node %s: it has no role", o.Self.ID)
	case o.Self.Incarnation <= 0:
		return fault.New(fault.Invalid, "node %s: its incarnation is not positive", o.Self.ID)
	case o.PeerTimeout < 2*o.HeartbeatInterval:
		return fault.New(fault.Invalid, "the peer timeout %v is shorter than two heartbeat intervals of %v", o.PeerTimeout, o.HeartbeatInterval)
	}
	return nil
}

// Membership is a process's part in the cluster: it tells that the process lives and knows who else does. Its methods may be called
// concurrently.
//
// Claim comes first, then Run, before a replay: a claimed id without heartbeats falls silent. Leave takes the node out of the views
// while Run goes on, so that it can finish its work.
type Membership struct {
	o       Options
	store   Store
	metrics *metrics
	cache   *cache

	turn  chan struct{} // held while a heartbeat or a leave is on its way, so that no heartbeat follows a leave
	wake  chan struct{} // asks Run for a heartbeat now
	drain chan struct{} // closed when a drain was asked for

	mu struct {
		sync.Mutex
		ready      bool
		progress   Progress
		leaving    bool // no more heartbeats
		left       bool // the row is gone
		superseded time.Time
	}
}

// New returns the membership of a process. It starts nothing and asks nobody. Options that cannot work are an error of kind Invalid.
func New(o Options, store Store) (*Membership, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("join the cluster: %w", err)
	}
	o.Self.State = ""
	m := &Membership{
		o: o, store: store,
		turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), drain: make(chan struct{}),
	}
	m.cache = &cache{observe: store.Observe, clock: o.Clock, log: o.Logger, maxAge: o.CacheFor, timeout: m.callTimeout()}
	m.metrics = newMetrics(o.Registerer, m.cache)
	m.cache.metrics = m.metrics
	return m, nil
}

// The pace follows from the peer timeout; package rules says why.
func (m *Membership) callTimeout() time.Duration  { return m.o.PeerTimeout / 5 }
func (m *Membership) retryEvery() time.Duration   { return m.o.PeerTimeout / 10 }
func (m *Membership) refreshEvery() time.Duration { return min(m.o.CacheFor/2, m.o.PeerTimeout/5) }
func (m *Membership) sweepEvery() time.Duration   { return SilentRowsFor / 5 }

// Self returns the node that this process is.
func (m *Membership) Self() Node { return m.o.Self }

// View returns who is a member, at most CacheFor old while the database can be reached. Calls that come together share one question
// to the database. While it cannot be reached View returns the last good view at once, and Stale tells its age; without any view
// the error is of kind Unavailable.
func (m *Membership) View(ctx context.Context) (*View, error) { return m.cache.view(ctx) }

// Current returns the last good view without asking anybody, nil before the first.
func (m *Membership) Current() *View { return m.cache.current() }

// Stale returns the age of the current view when it is older than it should be, else 0.
func (m *Membership) Stale() time.Duration { return m.cache.stale() }

// Drain returns a channel that is closed when somebody has asked this node to drain, which is seen at a heartbeat. The node leaves the
// member lists by itself, as Leave would; the receiver finishes the node's work, tells SetProgress about it and calls EndDrain.
func (m *Membership) Drain() <-chan struct{} { return m.drain }

// SetReady says whether the node can do its work. A node that is not ready is no member. The next heartbeat follows at once.
func (m *Membership) SetReady(ready bool) {
	m.mu.Lock()
	m.mu.ready = ready
	m.mu.Unlock()
	m.beatNow()
}

// SetProgress says how far the node has come with a replay or a drain. The next heartbeat carries it.
func (m *Membership) SetProgress(p Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.progress = p
}

func (m *Membership) beatNow() {
	select {
	case m.wake <- struct{}{}:
	default: // asked for already
	}
}

// Run writes heartbeats, sweeps rows of nodes long silent, and keeps the view fresh, until ctx ends. It returns nil then, and
// ErrSuperseded when another process has held this node's id for a peer timeout. It does not leave: the caller decides when.
func (m *Membership) Run(ctx context.Context) error {
	var beat, refresh, sweep time.Time // when each is due next
	for ctx.Err() == nil {
		now := m.o.Clock.Now()
		if !now.Before(beat) {
			again, err := m.beat(ctx)
			if err != nil {
				return err
			}
			beat = now.Add(again)
		}
		if !now.Before(refresh) {
			m.cache.refresh(ctx, m.callTimeout())
			refresh = now.Add(m.refreshEvery())
		}
		if !now.Before(sweep) {
			m.sweep(ctx)
			sweep = now.Add(m.sweepEvery())
		}
		next := beat
		if refresh.Before(next) {
			next = refresh
		}
		select {
		case <-ctx.Done():
		case <-m.wake:
			beat, refresh = time.Time{}, time.Time{}
		case <-m.o.Clock.After(max(next.Sub(m.o.Clock.Now()), 0)):
		}
	}
	return nil
}

// beat does what is due at a heartbeat and returns when it is due again: a heartbeat, a leave that failed before, or a word about the
// drain.
func (m *Membership) beat(ctx context.Context) (again time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.callTimeout())
	defer cancel()
	if err := m.takeTurn(ctx); err != nil {
		return m.retryEvery(), nil // a leave takes long; it is due again
	}
	defer m.endTurn()
	if m.isLeaving() {
		return m.afterLeaving(ctx), nil
	}
	drain, err := m.store.Beat(ctx, m.heartbeat())
	m.metrics.called("beat", err)
	switch {
	case errors.Is(err, ErrSuperseded):
		return m.retryEvery(), m.reclaim(ctx)
	case err != nil:
		m.failed(ctx, "beat", err)
		return m.retryEvery(), nil
	}
	m.setSuperseded(time.Time{})
	if drain {
		m.o.Logger.InfoContext(ctx, "asked to drain")
		m.setLeaving()
		defer close(m.drain) // only once: there is no heartbeat after this one
		return m.afterLeaving(ctx), nil
	}
	return m.o.HeartbeatInterval, nil
}

func (m *Membership) heartbeat() Heartbeat {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Heartbeat{Node: m.o.Self, Progress: m.mu.progress, Ready: m.mu.ready}
}

func (m *Membership) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, m.callTimeout())
	defer cancel()
	n, err := m.store.Sweep(ctx)
	m.metrics.called("sweep", err)
	if err != nil {
		m.failed(ctx, "sweep", err)
	} else if n > 0 {
		m.o.Logger.InfoContext(ctx, "swept rows of silent nodes", "rows", n)
	}
}

// failed logs a call of the store that is tried again.
func (m *Membership) failed(ctx context.Context, operation string, err error) {
	if !errors.Is(err, context.Canceled) {
		m.o.Logger.WarnContext(ctx, "call of the membership store failed; trying again", "operation", operation, "error", err)
	}
}

func (m *Membership) takeTurn(ctx context.Context) error {
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *Membership) endTurn() { <-m.turn }
