package quota

import (
	"math"
	"math/bits"
	"time"
)

// Tokens is what a bucket held at a time.
type Tokens struct {
	Limit  uint64    `json:"limit"`
	Quota  uint64    `json:"quota"`
	Tokens int64     `json:"tokens"` // whole, below zero is debt
	At     time.Time `json:"at"`     // by the clock that the store of shares has, else the machine's
}

// after returns the tokens some time later: what the quota refills, at most one second of it. Time that ran back counts as none.
func (t Tokens) after(now time.Time) int64 {
	elapsed := max(0, now.Sub(t.At))
	high, low := bits.Mul64(min(t.Quota, math.MaxInt64), uint64(elapsed))
	if high >= uint64(time.Second) {
		return int64(min(t.Quota, math.MaxInt64))
	}
	refill, _ := bits.Div64(high, low, uint64(time.Second))
	if t.Tokens < 0 {
		if refill >= uint64(-t.Tokens)+min(t.Quota, math.MaxInt64) {
			return int64(min(t.Quota, math.MaxInt64))
		}
		return t.Tokens + int64(refill)
	}
	return int64(min(uint64(t.Tokens)+min(refill, math.MaxInt64), t.Quota, math.MaxInt64))
}

// Restore tells what buckets held in the process before this one, at the time now of the clock of Tokens.At. It is called before the
// first request. Where a database is told of twice, the one with less counts. scarce says that the process before this one may have spent
// more than it wrote down: buckets of databases that are not told of then begin empty instead of with their part of a second.
func (r *Rows) Restore(tokens map[Database]Tokens, now time.Time, scarce bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	local := r.o.Clock.Now()
	r.scarce = r.scarce || scarce
	for name, t := range tokens {
		t.Tokens, t.At = t.after(now), local
		if old, ok := r.restored[name]; !ok || t.Tokens < old.Tokens {
			r.restored[name] = t
		}
	}
}

// initial returns the whole tokens of a new bucket: one second of the limit, divided by the frontends that may each do the same, or what
// was restored if that is less.
func (r *Rows) initial(name Database, limit RowLimit, now time.Time) int64 {
	n := 1
	if r.o.Frontends != nil {
		n = max(1, r.o.Frontends())
	}
	tokens := int64(min(max(limit.PerSecond/uint64(n), 1), math.MaxInt64))
	old, ok := r.restored[name]
	switch {
	case ok:
		delete(r.restored, name)
		return min(tokens, old.after(now))
	case r.scarce:
		return 0
	default:
		return tokens
	}
}

// Saved returns what must be known of buckets after a restart: those that are not full. at is the time now of the clock of Tokens.At.
// Debts that were restored and not asked for yet are among them.
func (r *Rows) Saved(at time.Time) map[Database]Tokens {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Clock.Now()
	out := make(map[Database]Tokens)
	for name, old := range r.restored {
		tokens := old.after(now)
		if tokens >= int64(min(old.Quota, math.MaxInt64)) {
			delete(r.restored, name)
			continue
		}
		out[name] = Tokens{Limit: old.Limit, Quota: old.Quota, Tokens: tokens, At: at}
	}
	for name, d := range r.databases {
		if !d.bucket.IsFull(now) {
			out[name] = Tokens{Limit: d.limit.PerSecond, Quota: d.bucket.Quota(), Tokens: d.bucket.Tokens(now), At: at}
		}
	}
	return out
}
