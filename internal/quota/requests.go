package quota

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

// RequestRate is how many requests of one class an org may send to one process.
type RequestRate struct {
	PerSecond int64 // 0 = no limit
	Burst     int64 // requests at once after a pause; at least PerSecond counts
}

func (r RequestRate) burst() int64 { return max(r.Burst, r.PerSecond, 1) }

// interval is the time between two requests at the rate.
func (r RequestRate) interval() time.Duration { return max(time.Second/time.Duration(r.PerSecond), 1) }

// Verdict is what became of a request.
type Verdict struct {
	// Remaining is how many more requests would pass now.
	Remaining int64
	// Wait is the time until one more passes than Remaining says; 0 when no more than a full burst can.
	Wait time.Duration
}

// Requests limits the requests of orgs by the generic cell rate algorithm: of each org only the time is kept at which all that it has sent
// is paid for. Its methods are safe for concurrent use.
type Requests struct {
	clock clock.Clock
	class string // "intake", "query", for messages
	rate  RequestRate

	mu struct {
		sync.Mutex
		paid   map[tenant.ID]time.Time // orgs that owe something; of the others nothing is known
		sweeps int                     // number of orgs at which those that owe nothing are looked for
	}
}

// NewRequests returns a Requests in which no org has sent anything. class names the kind of request in refusals and in the setting
// router.rate_limit.<class>_qps.
func NewRequests(c clock.Clock, class string, rate RequestRate) *Requests {
	r := &Requests{clock: c, class: class, rate: rate}
	r.mu.paid, r.mu.sweeps = map[tenant.ID]time.Time{}, 64
	return r
}

// Rate returns the rate of every org.
func (r *Requests) Rate() RequestRate { return RequestRate{r.rate.PerSecond, r.rate.burst()} }

// Class returns the kind of request.
func (r *Requests) Class() string { return r.class }

// Limited reports whether there is a rate.
func (r *Requests) Limited() bool { return r.rate.PerSecond > 0 }

// Take counts a request of the org. Over the rate it fails with fault.Limited and the wait after which one passes; a refused request
// costs nothing.
func (r *Requests) Take(org tenant.ID) (Verdict, error) {
	if !r.Limited() {
		return Verdict{Remaining: math.MaxInt64}, nil
	}
	interval, burst := r.rate.interval(), r.rate.burst()
	tolerance := interval * time.Duration(min(burst-1, math.MaxInt64/4/int64(interval)))
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	paid, known := r.mu.paid[org]
	if !known || paid.Before(now) {
		paid = now
	}
	ahead := paid.Sub(now) // what the org owes
	if ahead > tolerance {
		wait := ahead - tolerance
		return Verdict{Wait: wait}, fault.New(fault.Limited,
			"request rate limit exceeded for org %s: %d %s requests/s at this router (router.rate_limit.%s_qps), %d at once, retry in %s",
			org, r.rate.PerSecond, r.class, r.class, burst, roundUp(wait)).After(wait)
	}
	if !known && len(r.mu.paid) >= r.mu.sweeps {
		r.sweep(now)
	}
	ahead += interval
	r.mu.paid[org] = now.Add(ahead)
	if ahead > tolerance {
		return Verdict{Wait: ahead - tolerance}, nil
	}
	free := tolerance - ahead
	return Verdict{Remaining: int64(free/interval) + 1, Wait: interval - free%interval}, nil
}

// sweep forgets the orgs that owe nothing, and if that leaves MaxOrgs, the tenth of them that owes least.
func (r *Requests) sweep(now time.Time) {
	for org, paid := range r.mu.paid {
		if !paid.After(now) {
			delete(r.mu.paid, org)
		}
	}
	if len(r.mu.paid) >= MaxOrgs {
		orgs := make([]tenant.ID, 0, len(r.mu.paid))
		for org := range r.mu.paid {
			orgs = append(orgs, org)
		}
		slices.SortFunc(orgs, func(x, y tenant.ID) int { return cmp.Compare(r.mu.paid[x].Sub(now), r.mu.paid[y].Sub(now)) })
		for _, org := range orgs[:MaxOrgs/10] {
			delete(r.mu.paid, org)
		}
	}
	r.mu.sweeps = min(MaxOrgs, max(64, 2*len(r.mu.paid)))
}

// Orgs returns the number of orgs of which state is kept, at most MaxOrgs.
func (r *Requests) Orgs() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.paid)
}
