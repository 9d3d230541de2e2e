package share_test

import (
	"context"
	"sync"
	"time"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/quota/allocate"
	"github.com/millstream/millstream/internal/quota/share"
)

// memory is a store without a database. It can be away.
type memory struct {
	clock clock.Clock

	mu      sync.Mutex
	away    map[string]bool // for frontends; "" for all
	calls   int
	budgets map[quota.Budget]*entry
}

type entry struct {
	epoch    int64
	divided  uint64
	at       time.Time
	learning time.Time
	reports  map[string]stored
	grants   []allocate.Grant
}

type stored struct {
	share.Report
	incarnation int64
	at          time.Time
}

func newMemory(c clock.Clock) *memory {
	return &memory{clock: c, away: map[string]bool{}, budgets: map[quota.Budget]*entry{}}
}

func (m *memory) setAway(id string, away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away[id] = away
}

// enter locks the store. id is "" where the caller does not say who it is.
func (m *memory) enter(id string) error {
	m.mu.Lock()
	m.calls++
	if m.away[""] || m.away[id] {
		m.mu.Unlock()
		return fault.New(fault.Unavailable, "away")
	}
	return nil
}

func (m *memory) Now(context.Context) (time.Time, error) {
	if err := m.enter(""); err != nil {
		return time.Time{}, err
	}
	defer m.mu.Unlock()
	return m.clock.Now(), nil
}

func (m *memory) Shares(_ context.Context, f share.Frontend) (map[quota.Budget]quota.Share, time.Time, error) {
	if err := m.enter(f.ID); err != nil {
		return nil, time.Time{}, err
	}
	defer m.mu.Unlock()
	out := map[quota.Budget]quota.Share{}
	for b, e := range m.budgets {
		for _, g := range e.grants {
			if g.Frontend == f.ID && g.Incarnation == f.Incarnation {
				out[b] = quota.Share{Epoch: e.epoch, Quota: g.Quota, Limit: e.divided}
			}
		}
	}
	return out, m.clock.Now(), nil
}

func (m *memory) Report(_ context.Context, f share.Frontend, reports []share.Report) (due []quota.Budget, err error) {
	if err := m.enter(f.ID); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	now := m.clock.Now()
	for _, r := range reports {
		e, ok := m.budgets[r.Budget]
		if !ok {
			e = &entry{reports: map[string]stored{}}
			m.budgets[r.Budget] = e
		}
		e.reports[f.ID] = stored{r, f.Incarnation, now}
		mine := false
		for _, g := range e.grants {
			mine = mine || g.Frontend == f.ID && g.Incarnation == f.Incarnation
		}
		if !mine || now.Sub(e.at) >= (allocate.Timing{}).Due() {
			due = append(due, r.Budget)
		}
	}
	return due, nil
}

func (m *memory) Divide(_ context.Context, budgets map[quota.Budget]uint64) (busy []quota.Budget, err error) {
	if err := m.enter(""); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	now := m.clock.Now()
	for b, limit := range budgets {
		e := m.budgets[b]
		s := allocate.State{Limit: limit, Divided: e.divided, Age: now.Sub(e.at), Learning: now.Before(e.learning), Grants: e.grants}
		for id, r := range e.reports {
			s.Reports = append(s.Reports, allocate.Report{
				Frontend: id, Incarnation: r.incarnation, Load: r.Load, New: r.New, Debt: r.Debt, Quota: r.Quota, Age: now.Sub(r.at),
			})
		}
		d := allocate.Divide(s, allocate.Timing{})
		if d.Learn {
			e.learning = now.Add((allocate.Timing{}).Expiry())
		}
		if d.Changed {
			e.epoch++
			e.grants, e.divided = d.Grants, limit
		}
		e.at = now
	}
	return nil, nil
}

func (m *memory) Leave(_ context.Context, f share.Frontend, budgets ...quota.Budget) error {
	if err := m.enter(f.ID); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if len(budgets) == 0 {
		for b := range m.budgets {
			budgets = append(budgets, b)
		}
	}
	for _, b := range budgets {
		e := m.budgets[b]
		delete(e.reports, f.ID)
		var rest []allocate.Grant
		for _, g := range e.grants {
			if g.Frontend != f.ID {
				rest = append(rest, g)
			}
		}
		e.grants = rest
	}
	return nil
}

func (m *memory) Last(_ context.Context, f share.Frontend) (map[quota.Budget]share.Last, time.Time, error) {
	if err := m.enter(f.ID); err != nil {
		return nil, time.Time{}, err
	}
	defer m.mu.Unlock()
	out := map[quota.Budget]share.Last{}
	for b, e := range m.budgets {
		if r, ok := e.reports[f.ID]; ok && r.incarnation != f.Incarnation {
			out[b] = share.Last{Limit: r.Limit, Quota: r.Quota, Debt: r.Debt, At: r.at}
		}
	}
	return out, m.clock.Now(), nil
}
