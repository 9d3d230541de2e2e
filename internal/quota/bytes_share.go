package quota

import (
	"time"

	"github.com/millstream/millstream/internal/tenant"
)

// use is what an org did with its rate here, and its share of it.
type use struct {
	limit             uint64 // bytes a second in all, when it was looked at last
	share             Share
	accepted, refused uint64
	last              time.Time
}

// Divide makes the rates budgets of a cluster: the bucket of each process has the whole burst and is refilled by its share. It is called
// before the first request. wanted is told of orgs that need a division soon, must not block, and may be told often. frontends tells how
// many processes divide the rates.
func (b *Bytes) Divide(wanted func(Budget), frontends func() int) {
	b.wanted, b.frontends = wanted, frontends
}

// delay is how long a client is told to wait that would wait for so long at the local rate. A process that had nothing to do has a tiny
// share; since it gets at least its part of the rate soon, the client need not wait for what the tiny share would take.
func (b *Bytes) delay(org tenant.ID, whole, local Rate, wait time.Duration) time.Duration {
	if u, ok := b.uses[org]; !ok || u.share.Limit == 0 {
		return wait
	}
	part := max(whole.PerSecond/int64(max(1, b.frontends())), 1)
	return min(wait, duration(amount(wait, local.PerSecond), part)+settling)
}

func bytesOf(org tenant.ID) Budget { return Budget{Kind: KindBytes, Org: org} }

// share returns the rate in force here, and takes the org among those whose rates are divided. Orgs beyond MaxOrgs are not.
func (b *Bytes) share(org tenant.ID, rate Rate, now time.Time) Rate {
	if b.wanted == nil {
		return rate
	}
	limit := uint64(rate.PerSecond)
	u, ok := b.uses[org]
	if !ok {
		if len(b.uses) >= MaxOrgs {
			return rate
		}
		u = &use{limit: limit}
		b.uses[org] = u
	}
	u.last = now
	if u.share.Limit == 0 || u.limit != limit {
		u.limit = limit
		b.wanted(bytesOf(org))
	}
	return u.local(rate)
}

// local is a rate as it is in force here: the burst of the whole, refilled by the share.
func (u *use) local(rate Rate) Rate {
	return Rate{PerSecond: int64(u.share.Of(uint64(rate.PerSecond))), Burst: rate.burst()}
}

// settle lets the rate that is in force by now fill the org's bucket from now on. Without it a bucket would go on at the earlier rate until
// its next request, and refuse that one although a greater share, or limit, was there long before.
func (b *Bytes) settle(org tenant.ID, now time.Time) {
	rate := b.rate(org)
	if rate.PerSecond <= 0 {
		return
	}
	if u, ok := b.uses[org]; ok {
		rate = u.local(rate)
	}
	b.missing(org, rate, now)
}

// Refresh lets limits that have changed count from now on.
func (b *Bytes) Refresh() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	for org := range b.orgs {
		b.settle(org, now)
	}
}

// count adds a request to what the next division is told. One that is refused needs a greater share soon.
func (b *Bytes) count(org tenant.ID, accepted, refused int64) {
	u, ok := b.uses[org]
	if !ok {
		return
	}
	u.accepted += uint64(accepted)
	u.refused += uint64(refused)
	if refused > 0 && u.share.Of(u.limit) < u.limit {
		b.wanted(bytesOf(org))
	}
}

// Usage lists the orgs whose rates are divided, and forgets those that sent nothing for long.
func (b *Bytes) Usage() []Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	out := make([]Usage, 0, len(b.uses))
	for org, u := range b.uses {
		limit := uint64(max(b.rate(org).PerSecond, 0))
		idle := now.Sub(u.last)
		if u.share.Limit == 0 && (idle > MaxIdle || limit == 0) {
			delete(b.uses, org)
			continue
		}
		usage := Usage{Budget: bytesOf(org), Limit: limit, Epoch: u.share.Epoch, Accepted: u.accepted, Refused: u.refused, Idle: idle}
		if limit > 0 {
			usage.Quota = u.share.Of(limit)
		}
		if x, ok := b.orgs[org]; ok {
			usage.Missing = uint64(amount(max(0, x.full.Sub(now)), x.rate.PerSecond))
		}
		out = append(out, usage)
	}
	return out
}

// Apply puts a share into force; the zero Share takes it away. Budgets of other kinds and orgs that sent nothing are ignored.
func (b *Bytes) Apply(budget Budget, s Share) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if u, ok := b.uses[budget.Org]; ok && budget.Kind == KindBytes {
		u.share = s
		b.settle(budget.Org, b.clock.Now())
	}
}
