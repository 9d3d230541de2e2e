package debt

import (
	"math"
	"math/bits"
	"time"
)

// billion is how many parts a row has.
const billion = 1_000_000_000

// MaxDebt is where a debt stops growing, in rows.
const MaxDebt = 1 << 62

// Bucket is the tokens of one database at one frontend. The zero Bucket is empty and has no quota.
type Bucket struct {
	quota uint64 // rows a second and the most whole rows held, at most math.MaxInt64; 0 = none, everything passes and nothing changes
	rows  int64  // whole tokens, rounded down; below zero is debt
	parts uint32 // billionths of a token above rows
	last  time.Time
}

// Full returns a bucket with one second of the quota.
func Full(quota uint64, now time.Time) Bucket { return With(quota, math.MaxInt64, now) }

// With returns a bucket with as many whole tokens, at most one second of the quota; below zero is debt.
func With(quota uint64, tokens int64, now time.Time) Bucket {
	b := Bucket{quota: clamp(quota), rows: max(tokens, -MaxDebt), last: now}
	if b.quota > 0 {
		b.cap()
	}
	return b
}

func clamp(quota uint64) uint64 { return min(quota, math.MaxInt64) }

// Quota returns the rows a second, 0 for none.
func (b *Bucket) Quota() uint64 { return b.quota }

// SetQuota changes the rate from now on; 0 = none. What was refilled at the old rate until now stays.
func (b *Bucket) SetQuota(quota uint64, now time.Time) {
	if quota = clamp(quota); quota == b.quota {
		return
	}
	b.advance(now)
	b.quota = quota
	if quota > 0 {
		b.cap()
	}
}

// Tokens returns the whole tokens at the time, rounded down; below zero is debt.
func (b *Bucket) Tokens(now time.Time) int64 {
	b.advance(now)
	return b.rows
}

// IsFull reports whether nothing can be added.
func (b *Bucket) IsFull(now time.Time) bool {
	b.advance(now)
	return b.quota > 0 && b.rows == int64(b.quota)
}

// Wait returns how long it takes until one whole token is there if nothing else is taken; 0 when there is one or no quota.
func (b *Bucket) Wait(now time.Time) time.Duration {
	b.advance(now)
	return b.wait(b.quota)
}

// WaitAt returns what Wait would if the quota were another from now on.
func (b *Bucket) WaitAt(quota uint64, now time.Time) time.Duration {
	b.advance(now)
	return b.wait(clamp(quota))
}

func (b *Bucket) wait(quota uint64) time.Duration {
	if quota == 0 || b.rows >= 1 {
		return 0
	}
	// (1 - tokens) in billionths, rounded up to whole nanoseconds of the quota.
	high, low := bits.Mul64(uint64(1-b.rows), billion)
	low, borrow := bits.Sub64(low, uint64(b.parts), 0)
	high -= borrow
	low, carry := bits.Add64(low, quota-1, 0)
	high += carry
	if high >= quota {
		return math.MaxInt64
	}
	wait, _ := bits.Div64(high, low, quota)
	return time.Duration(min(wait, math.MaxInt64))
}

// Take takes rows, whatever their number; what is missing becomes debt. The caller has seen that Wait is 0. Without a quota nothing is
// taken.
func (b *Bucket) Take(rows int64, now time.Time) {
	if b.quota == 0 || rows <= 0 {
		return
	}
	b.advance(now)
	if b.rows < rows-MaxDebt {
		b.rows, b.parts = -MaxDebt, 0
		return
	}
	b.rows -= rows
}

// advance refills until now.
func (b *Bucket) advance(now time.Time) {
	elapsed := now.Sub(b.last)
	if elapsed <= 0 {
		return
	}
	b.last = now
	if b.quota == 0 {
		return
	}
	high, low := bits.Mul64(b.quota, uint64(elapsed))
	if high >= billion { // more rows than uint64 holds
		b.rows, b.parts = int64(b.quota), 0
		return
	}
	rows, parts := bits.Div64(high, low, billion)
	parts += uint64(b.parts)
	b.parts = uint32(parts % billion)
	b.rows = add(b.rows, rows, parts/billion)
	b.cap()
}

// add returns rows + more + carry, at most math.MaxInt64.
func add(rows int64, more, carry uint64) int64 {
	room := uint64(math.MaxInt64) - uint64(rows) // of two's complement: right for negative rows too
	if more > room || carry > room-more {
		return math.MaxInt64
	}
	return int64(uint64(rows) + more + carry)
}

// cap takes away what is above one second of the quota.
func (b *Bucket) cap() {
	if b.rows >= int64(b.quota) {
		b.rows, b.parts = int64(b.quota), 0
	}
}
