package clustertest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/internal/rules"
	"github.com/millstream/millstream/internal/fault"
)

// Memory is a store in memory. Its clock is the database's clock. It may be taken away and given back.
type Memory struct {
	clock  clock.Clock
	timing rules.Timing

	mu struct {
		sync.Mutex
		away   bool
		record rules.Record
		rows   map[string]row
		drains map[string]cluster.Drain
		leases map[cluster.LeaseKey]cluster.Lease
	}
}

type row struct {
	cluster.Status

	ready   bool
	readyAt time.Time
}

// NewMemory returns an empty store that has been reachable for long.
func NewMemory(c clock.Clock, peerTimeout time.Duration) *Memory {
	m := &Memory{clock: c, timing: rules.Timing{PeerTimeout: peerTimeout}}
	m.mu.rows = map[string]row{}
	m.mu.drains = map[string]cluster.Drain{}
	m.mu.leases = map[cluster.LeaseKey]cluster.Lease{}
	m.mu.record = rules.Record{Algo: cluster.Algo, ObservedAt: m.now(), ReachableSince: m.now().Add(-peerTimeout)}
	return m
}

// SetAway makes every call fail, or succeed again.
func (m *Memory) SetAway(away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.away = away
}

// Lose forgets the view, as a restore from a backup does.
func (m *Memory) Lose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.record.Epoch, m.mu.record.Listed = 0, nil
}

func (m *Memory) now() time.Time { return m.clock.Now().UTC() }

// locked runs do under the lock with the store's time, unless the store is away or the caller has left.
func (m *Memory) locked(ctx context.Context, do func(now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.away {
		return fault.New(fault.Unavailable, "the catalog is not available")
	}
	now := m.now()
	for id, r := range m.mu.rows {
		r.HeartbeatAt, r.readyAt = clamp(r.HeartbeatAt, now), clamp(r.readyAt, now)
		m.mu.rows[id] = r
	}
	return do(now)
}

func clamp(at, now time.Time) time.Time {
	if at.After(now) {
		return now
	}
	return at
}

// Claim implements cluster.Store.
func (m *Memory) Claim(ctx context.Context, n cluster.Node, replaces int64) (holder cluster.Status, claimed bool, err error) {
	err = m.locked(ctx, func(now time.Time) error {
		old, exists := m.mu.rows[n.ID]
		silent := now.Sub(old.HeartbeatAt)
		if exists && old.Incarnation != n.Incarnation && old.Incarnation != replaces && silent <= m.timing.PeerTimeout {
			holder = m.status(old, now)
			return nil
		}
		claimed = true
		m.mu.rows[n.ID] = row{Status: cluster.Status{Node: n, Started: now, HeartbeatAt: now}, readyAt: old.readyAt}
		return nil
	})
	return holder, claimed, err
}

// Beat implements cluster.Store.
func (m *Memory) Beat(ctx context.Context, hb cluster.Heartbeat) (drain bool, err error) {
	err = m.locked(ctx, func(now time.Time) error {
		r, exists := m.mu.rows[hb.ID]
		switch {
		case !exists:
			r = row{Status: cluster.Status{Node: hb.Node, Started: now}}
		case r.Incarnation != hb.Incarnation:
			return cluster.ErrSuperseded
		}
		switch {
		case hb.Ready:
			r.readyAt = now
		case r.ready:
			r.readyAt = time.Time{}
		}
		r.Node, r.Progress, r.HeartbeatAt, r.ready = hb.Node, hb.Progress, now, hb.Ready
		m.mu.rows[hb.ID] = r
		d, asked := m.mu.drains[hb.ID]
		drain = asked && d.Incarnation == hb.Incarnation && d.Ended.IsZero()
		return nil
	})
	return drain, err
}

// Leave implements cluster.Store.
func (m *Memory) Leave(ctx context.Context, id string, incarnation int64) error {
	return m.locked(ctx, func(time.Time) error {
		if m.mu.rows[id].Incarnation == incarnation {
			delete(m.mu.rows, id)
		}
		return nil
	})
}

// Sweep implements cluster.Store.
func (m *Memory) Sweep(ctx context.Context) (n int, err error) {
	err = m.locked(ctx, func(now time.Time) error {
		if !m.timing.Calm(m.mu.record.ObservedAt, m.mu.record.ReachableSince, now) {
			return nil
		}
		before := len(m.mu.rows)
		maps.DeleteFunc(m.mu.rows, func(_ string, r row) bool { return now.Sub(r.HeartbeatAt) > cluster.SilentRowsFor })
		n = before - len(m.mu.rows)
		return nil
	})
	return n, err
}

// Observe implements cluster.Store.
func (m *Memory) Observe(ctx context.Context, known int64) (v *cluster.View, err error) {
	err = m.locked(ctx, func(now time.Time) error {
		rows := make([]rules.Row, 0, len(m.mu.rows))
		for _, id := range slices.Sorted(maps.Keys(m.mu.rows)) {
			r := m.mu.rows[id]
			rows = append(rows, rules.Row{Node: r.Node, Ready: r.ready, ReadyAt: r.readyAt})
		}
		m.mu.record, _ = rules.Next(m.mu.record, rows, now, m.timing, known)
		v = m.mu.record.View()
		return nil
	})
	return v, err
}

// Statuses implements cluster.Store.
func (m *Memory) Statuses(ctx context.Context) (out []cluster.Status, err error) {
	err = m.locked(ctx, func(now time.Time) error {
		for _, r := range m.mu.rows {
			out = append(out, m.status(r, now))
		}
		slices.SortFunc(out, func(a, b cluster.Status) int { return cmp.Compare(a.ID, b.ID) })
		return nil
	})
	return out, err
}

func (m *Memory) status(r row, now time.Time) cluster.Status {
	s := r.Status
	s.Silence = now.Sub(r.HeartbeatAt)
	s.State = rules.State(r.ready, s.Silence, m.timing)
	return s
}

// RequestDrain implements cluster.Store.
func (m *Memory) RequestDrain(ctx context.Context, id string) (d cluster.Drain, err error) {
	err = m.locked(ctx, func(now time.Time) error {
		r, alive := m.mu.rows[id]
		old, asked := m.mu.drains[id]
		switch alive = alive && now.Sub(r.HeartbeatAt) <= m.timing.PeerTimeout; {
		case asked && (old.Incarnation == r.Incarnation || !alive && old.Ended.IsZero()):
			d = old
		case alive:
			d = cluster.Drain{Node: id, Incarnation: r.Incarnation, Requested: now, Updated: now}
			m.mu.drains[id] = d
		default:
			return rules.NoLiveNode(id)
		}
		return nil
	})
	return d, err
}

// ReportDrain implements cluster.Store.
func (m *Memory) ReportDrain(ctx context.Context, id string, incarnation int64, p cluster.Progress, ended bool) error {
	return m.locked(ctx, func(now time.Time) error {
		d, asked := m.mu.drains[id]
		if !asked || d.Incarnation != incarnation || !d.Ended.IsZero() {
			return nil
		}
		d.Progress, d.Updated = p, now
		if ended {
			d.Ended = now
		}
		m.mu.drains[id] = d
		return nil
	})
}

// Drains implements cluster.Store.
func (m *Memory) Drains(ctx context.Context) (out []cluster.Drain, err error) {
	err = m.locked(ctx, func(now time.Time) error {
		maps.DeleteFunc(m.mu.drains, func(_ string, d cluster.Drain) bool { return now.Sub(d.Updated) > cluster.DrainsFor })
		for _, id := range slices.Sorted(maps.Keys(m.mu.drains)) {
			out = append(out, m.mu.drains[id])
		}
		return nil
	})
	return out, err
}

// Acquire implements cluster.Leases.
func (m *Memory) Acquire(ctx context.Context, key cluster.LeaseKey, holder string) (lease cluster.Lease, ok bool, err error) {
	err = m.locked(ctx, func(now time.Time) error {
		if held, exists := m.mu.leases[key]; exists && held.Expires.After(now) {
			return nil
		}
		lease, ok = cluster.Lease{LeaseKey: key, Holder: holder, Token: rules.Token(), Expires: now.Add(cluster.LeaseFor)}, true
		m.mu.leases[key] = lease
		return nil
	})
	return lease, ok, err
}

// Release implements cluster.Leases.
func (m *Memory) Release(ctx context.Context, lease cluster.Lease) error {
	return m.locked(ctx, func(time.Time) error {
		if m.mu.leases[lease.LeaseKey].Token == lease.Token {
			delete(m.mu.leases, lease.LeaseKey)
		}
		return nil
	})
}

var (
	_ cluster.Store  = (*Memory)(nil)
	_ cluster.Leases = (*Memory)(nil)
)
