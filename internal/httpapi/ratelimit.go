package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/quota"
)

// RequestRates limit the requests of orgs to this process by class; nil ones do not.
type RequestRates struct {
	Intake *quota.Requests // writes under every alias
	Query  *quota.Requests // statements, Prometheus' and Loki's reads
}

// count counts a request of a class against each of its caller's orgs, and tells in the headers of the draft "RateLimit header fields for
// HTTP" what is left. It is called once the caller is known and before the body is read.
func (a *api) count(r *http.Request, p auth.Principal, of *quota.Requests) error {
	if of == nil || !of.Limited() {
		return nil
	}
	least := quota.Verdict{Remaining: math.MaxInt64}
	var refusal error
	for _, org := range p.Orgs {
		v, err := of.Take(org)
		if err != nil && refusal == nil {
			refusal = err
		}
		if v.Remaining < least.Remaining || v.Remaining == least.Remaining && v.Wait > least.Wait {
			least = v
		}
	}
	if h := exchangeOf(r.Context()).header; h != nil {
		rate := of.Rate()
		window := (rate.Burst + rate.PerSecond - 1) / rate.PerSecond
		h.Set("RateLimit-Policy", fmt.Sprintf("%q;q=%d;w=%d", of.Class(), rate.Burst, window))
		h.Set("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", of.Class(), least.Remaining, int64((least.Wait+time.Second-1)/time.Second)))
	}
	return refusal
}

// queryReader authenticates a request that reads and counts it as a query.
func (a *api) queryReader(r *http.Request) (auth.Principal, error) {
	p, err := a.reader(r)
	if err != nil {
		return p, err
	}
	return p, a.count(r, p, a.Requests.Query)
}
