package share

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/quota/allocate"
)

// meter measures the load of a budget from one report to the next.
type meter struct {
	at      time.Time // when the window began
	offered uint64    // then, since the start of the process
	load    uint64
	known   bool // a window was closed
}

// measure closes the window if it is long enough to tell of a rate, at least a fifth of a heartbeat. One in which a large batch came is
// closed at once and counts as a heartbeat long.
func (m *meter) measure(now time.Time, offered uint64, heartbeat time.Duration, large bool) {
	window := now.Sub(m.at)
	if large {
		window = max(window, heartbeat)
	}
	if window < heartbeat/5 {
		return
	}
	rate := uint64(math.Ceil(float64(offered-m.offered) / window.Seconds()))
	if m.known {
		m.load = allocate.Load(m.load, rate)
	} else {
		m.load = rate
	}
	m.at, m.offered, m.known = now, offered, true
}

// Beat takes the shares of this process, reports what it used and divides what is due.
func (k *Keeper) Beat(ctx context.Context) error {
	if err := k.take(ctx); err != nil {
		return err
	}
	defer k.give()
	wanted := k.takeWanted()
	if k.left {
		return nil
	}
	usages, idle := k.usages()
	if len(usages) == 0 && len(idle) == 0 {
		return nil
	}
	if err := k.beat(ctx, usages, wanted); err != nil {
		k.wantAgain(wanted)
		return err
	}
	return k.abandon(ctx, idle)
}

// wantAgain keeps what could not be divided for the next heartbeat, without waking it.
func (k *Keeper) wantAgain(wanted map[quota.Budget]struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.Copy(k.wanted, wanted)
}

func (k *Keeper) beat(ctx context.Context, usages map[quota.Budget]quota.Usage, wanted map[quota.Budget]struct{}) error {
	if len(usages) == 0 {
		return nil
	}
	if err := k.adopt(ctx, usages); err != nil {
		return err
	}
	due, err := k.store.Report(ctx, k.o.Self, k.reports(usages))
	if err != nil {
		return err
	}
	budgets := map[quota.Budget]uint64{}
	for _, b := range due {
		budgets[b] = usages[b].Limit
	}
	urgent := false
	for b := range wanted {
		if u, ok := usages[b]; ok {
			budgets[b], urgent = u.Limit, true
		}
	}
	if len(budgets) == 0 {
		return nil
	}
	if err := k.divide(ctx, budgets, urgent); err != nil {
		return err
	}
	return k.adopt(ctx, usages)
}

// divide divides budgets. One that another frontend is dividing is left to it; when it is urgent that is waited for.
func (k *Keeper) divide(ctx context.Context, budgets map[quota.Budget]uint64, urgent bool) error {
	for try := 1; ; try++ {
		busy, err := k.store.Divide(ctx, budgets)
		if err != nil || len(busy) == 0 || !urgent || try == busyTries {
			return err
		}
		rest := make(map[quota.Budget]uint64, len(busy))
		for _, b := range busy {
			rest[b] = budgets[b]
		}
		budgets = rest
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-k.o.Clock.After(busyPause):
		}
	}
}

// adopt puts the shares of the store into force. A budget without one keeps what it has.
func (k *Keeper) adopt(ctx context.Context, usages map[quota.Budget]quota.Usage) error {
	shares, told, err := k.store.Shares(ctx, k.o.Self)
	if err != nil {
		return err
	}
	k.hear(told)
	for b := range usages {
		if s, ok := shares[b]; ok {
			for _, source := range k.sources {
				source.Apply(b, s)
			}
		}
	}
	return nil
}

// usages returns the budgets to divide, and those that were divided and need it no longer.
func (k *Keeper) usages() (active map[quota.Budget]quota.Usage, idle []quota.Budget) {
	active = map[quota.Budget]quota.Usage{}
	for _, source := range k.sources {
		for _, u := range source.Usage() {
			if u.Limit > 0 && (u.Debt > 0 || u.Idle <= quota.MaxIdle) {
				active[u.Budget] = u
			}
		}
	}
	for b := range k.meters {
		if _, ok := active[b]; !ok {
			idle = append(idle, b)
		}
	}
	return active, idle
}

// reports measures loads. Quotas are asked again, since the shares have just been put into force.
func (k *Keeper) reports(active map[quota.Budget]quota.Usage) []Report {
	now := k.o.Clock.Now()
	out := make([]Report, 0, len(active))
	fresh, _ := k.usages()
	for b, u := range fresh {
		if _, ok := active[b]; !ok {
			continue // it came meanwhile, and has no share yet
		}
		offered := u.Accepted + u.Refused
		m, ok := k.meters[b]
		if !ok {
			m = &meter{at: now, offered: 0}
			k.meters[b] = m
		}
		m.measure(now, offered, k.o.Heartbeat, u.Debt > u.Quota)
		u.Debt = max(u.Debt, u.Missing)
		if u.Epoch == 0 {
			u.Quota = 0 // the whole limit, for want of a share
		}
		out = append(out, Report{Usage: u, Load: m.load, New: !m.known})
	}
	slices.SortFunc(out, func(a, b Report) int { return a.Compare(b.Budget) })
	return out
}

// abandon gives up the shares of budgets that nobody uses here, so that the next division is made without this process, and the share that
// the next write begins with is not an old one.
func (k *Keeper) abandon(ctx context.Context, idle []quota.Budget) error {
	if len(idle) == 0 {
		return nil
	}
	if err := k.store.Leave(ctx, k.o.Self, idle...); err != nil {
		return err
	}
	for _, b := range idle {
		delete(k.meters, b)
		for _, source := range k.sources {
			source.Apply(b, quota.Share{})
		}
	}
	return nil
}

// Inherited returns what this process's node reported last under other incarnations, as buckets: debts that a restart does not wipe.
func (k *Keeper) Inherited(ctx context.Context) (map[quota.Database]quota.Tokens, time.Time, error) {
	last, told, err := k.store.Last(ctx, k.o.Self)
	if err != nil {
		return nil, time.Time{}, errors.Join(errors.New("read the last reports of this node"), err)
	}
	k.hear(told)
	out := map[quota.Database]quota.Tokens{}
	for b, l := range last {
		if b.Kind == quota.KindRows && l.Debt > 0 {
			out[quota.Database{Org: b.Org, Name: b.Database}] = quota.Tokens{
				Limit: l.Limit, Quota: l.Quota, Tokens: -int64(min(l.Debt, math.MaxInt64)), At: l.At,
			}
		}
	}
	return out, told, nil
}
