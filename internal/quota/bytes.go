package quota

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

// MaxOrgs is how many orgs a Bytes keeps state of.
const MaxOrgs = 10_000

// MaxRetryAfter is the longest wait that a client is told: clients drop data rather than wait for long, and ask again anyway.
const MaxRetryAfter = 30 * time.Second

// Rate is how fast an org may send, in bytes.
type Rate struct {
	PerSecond int64 // refill of the bucket; 0 = no limit
	Burst     int64 // size of the bucket, the largest request that can pass; 0 = PerSecond
}

// burst returns the size of the bucket.
func (r Rate) burst() int64 {
	if r.Burst <= 0 {
		return r.PerSecond
	}
	return r.Burst
}

// Bytes are the buckets of all orgs. Its methods are safe for concurrent use.
type Bytes struct {
	clock     clock.Clock
	rate      func(tenant.ID) Rate
	wanted    func(Budget) // nil: each process has the whole rate
	frontends func() int   // set with wanted
	metrics   *metrics

	mu     sync.Mutex
	orgs   map[tenant.ID]bucket
	uses   map[tenant.ID]*use // where rates are divided
	sweeps int                // number of orgs at which those with a full bucket are looked for
}

// bucket is a bucket that is not full. It holds burst - PerSecond × (full - now) bytes.
type bucket struct {
	full time.Time // when nothing else is taken until then
	rate Rate      // that full was computed with
}

// NewBytes returns full buckets. rate is asked at each request, so limits may change at any time; what an org has used stays used.
func NewBytes(c clock.Clock, rate func(tenant.ID) Rate) *Bytes {
	b := &Bytes{clock: c, rate: rate, orgs: map[tenant.ID]bucket{}, uses: map[tenant.ID]*use{}, sweeps: 64}
	b.metrics = newMetrics(KindBytes, b.Usage, nil)
	return b
}

// Register registers the metrics. It is called before the first request.
func (b *Bytes) Register(reg prometheus.Registerer) { b.metrics = newMetrics(KindBytes, b.Usage, reg) }

// Limited reports whether the org has a rate.
func (b *Bytes) Limited(org tenant.ID) bool { return b.rate(org).PerSecond > 0 }

// Piece is the size of the pieces in which a stream of unknown size should be taken, at most limit: no piece is above the burst.
func (b *Bytes) Piece(org tenant.ID, limit int64) int64 {
	if r := b.rate(org); r.PerSecond > 0 {
		return min(limit, r.burst())
	}
	return limit
}

// Take takes n bytes from the org's bucket. It fails with fault.Limited, with the time after which the same request passes if nothing
// else is taken, when the bucket holds less, and with fault.TooLarge when it never can hold so much; nothing is taken then.
func (b *Bytes) Take(org tenant.ID, n int64) error {
	rate := b.rate(org)
	if rate.PerSecond <= 0 || n <= 0 {
		return nil
	}
	if n > rate.burst() {
		return fault.New(fault.TooLarge, "the request has %d bytes inflated, above the burst of org %s: %d bytes "+
			"(limits.ingestion_burst_size_mb); it can never pass, send smaller requests", n, org, rate.burst())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	whole := rate
	rate = b.share(org, rate, now)
	missing := b.missing(org, rate, now) + duration(n, rate.PerSecond)
	if wait := missing - duration(rate.burst(), rate.PerSecond); wait > 0 {
		b.count(org, 0, n)
		b.metrics.refuse(bytesOf(org), n)
		return b.refusal(org, n, whole, rate, wait)
	}
	b.count(org, n, 0)
	if _, ok := b.orgs[org]; !ok && len(b.orgs) >= b.sweeps {
		b.sweep(now)
	}
	b.orgs[org] = bucket{now.Add(missing), rate}
	return nil
}

// Free returns how many bytes the org could take at once at this process; 0 without a rate.
func (b *Bytes) Free(org tenant.ID) int64 {
	rate := b.rate(org)
	if rate.PerSecond <= 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	x, ok := b.orgs[org]
	if !ok {
		return rate.burst()
	}
	return max(0, rate.burst()-amount(max(0, x.full.Sub(b.clock.Now())), x.rate.PerSecond))
}

// refusal tells of a request of n bytes that would pass after wait at the rate in force here, whole being that of the org.
func (b *Bytes) refusal(org tenant.ID, n int64, whole, local Rate, wait time.Duration) error {
	free := max(0, n-amount(wait, local.PerSecond))
	told := min(b.delay(org, whole, local, wait), MaxRetryAfter)
	share := ""
	if whole.PerSecond != local.PerSecond {
		share = fmt.Sprintf(", of which %d bytes/s are this node's share", local.PerSecond)
	}
	return fault.New(fault.Limited, "ingestion rate limit exceeded for org %s: limit %d bytes/s (limits.ingestion_rate_mb)%s, burst %d bytes "+
		"(limits.ingestion_burst_size_mb), %d bytes free; the request has %d bytes inflated, retry in %s",
		org, whole.PerSecond, share, local.burst(), free, n, told.Round(time.Millisecond)).After(told)
}

// missing returns how long the org's bucket takes to be full, at the rate. A new rate counts from now on.
func (b *Bytes) missing(org tenant.ID, rate Rate, now time.Time) time.Duration {
	x, ok := b.orgs[org]
	if !ok {
		return 0
	}
	left := max(0, x.full.Sub(now))
	if x.rate == rate {
		return left
	}
	left = duration(amount(left, x.rate.PerSecond), rate.PerSecond)
	left = min(left, duration(rate.burst(), rate.PerSecond)) // of a smaller bucket at most all is missing
	b.orgs[org] = bucket{now.Add(left), rate}
	return left
}

// sweep forgets the orgs whose bucket is full, and if that leaves MaxOrgs, a tenth of them that is nearest to full.
func (b *Bytes) sweep(now time.Time) {
	for org, x := range b.orgs {
		if !x.full.After(now) {
			delete(b.orgs, org)
		}
	}
	if len(b.orgs) >= MaxOrgs {
		orgs := make([]tenant.ID, 0, len(b.orgs))
		for org := range b.orgs {
			orgs = append(orgs, org)
		}
		slices.SortFunc(orgs, func(x, y tenant.ID) int { return cmp.Compare(b.orgs[x].full.Sub(now), b.orgs[y].full.Sub(now)) })
		for _, org := range orgs[:MaxOrgs/10] {
			delete(b.orgs, org)
		}
	}
	b.sweeps = min(MaxOrgs, max(64, 2*len(b.orgs)))
}

// duration returns how long n bytes take at perSecond, rounded up.
func duration(n, perSecond int64) time.Duration {
	return time.Duration(mulDivUp(n, int64(time.Second), perSecond))
}

// amount returns the bytes that come in d at perSecond, rounded up.
func amount(d time.Duration, perSecond int64) int64 {
	return mulDivUp(int64(d), perSecond, int64(time.Second))
}

// mulDivUp returns x × y ÷ z of numbers that are not negative, rounded up; the greatest int64 when it is greater. A quarter of it is
// the most that is added up here.
func mulDivUp(x, y, z int64) int64 {
	const most = math.MaxInt64 / 4
	high, low := bits.Mul64(uint64(x), uint64(y))
	low, carry := bits.Add64(low, uint64(z-1), 0)
	high += carry
	if high >= uint64(z) {
		return most
	}
	q, _ := bits.Div64(high, low, uint64(z))
	return int64(min(q, most))
}
