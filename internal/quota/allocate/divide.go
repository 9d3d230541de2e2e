package allocate

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/millstream/millstream/internal/quota"
)

// Timing is the pace of the frontends.
type Timing struct {
	Heartbeat time.Duration // between two reports of a frontend; 0 = 1 s
}

func (t Timing) heartbeat() time.Duration {
	if t.Heartbeat <= 0 {
		return time.Second
	}
	return t.Heartbeat
}

// Expiry is how old a report may be to count.
func (t Timing) Expiry() time.Duration { return max(3*t.heartbeat(), 5*time.Second) }

// Due is the age from which a division is computed again.
func (t Timing) Due() time.Duration { return t.heartbeat() * 8 / 10 }

// Report is what a frontend said last of its use of a budget.
type Report struct {
	Frontend    string
	Incarnation int64
	Load        uint64        // offered a second, see Load
	New         bool          // it has no load to tell of yet
	Debt        uint64        // not paid yet
	Quota       uint64        // in force there; 0 = the whole limit, for want of a share
	Age         time.Duration // by the store's clock
}

// Grant is the share of one frontend in the last division.
type Grant struct {
	Frontend    string
	Incarnation int64
	Quota       uint64
}

// State is all that is known of a budget at the time of a division.
type State struct {
	Limit    uint64 // to divide, not 0
	Divided  uint64 // the limit of the last division; 0 = there was none
	Age      time.Duration
	Learning bool // until a time that has not come
	Reports  []Report
	Grants   []Grant
}

// Division is the next one.
type Division struct {
	Grants  []Grant // by frontend
	Changed bool    // it differs from the last one
	Learn   bool    // silent frontends are to be waited for, for one expiry from now
}

// frontend is one that takes part in a division.
type frontend struct {
	Report
	last   uint64 // its share until now, in proportion to the limit; 0 = none
	silent bool
}

// Divide computes the next division.
func Divide(s State, t Timing) Division {
	d := Division{Learn: s.Divided != 0 && !s.Learning && s.Age > t.Expiry()}
	frontends, changed := s.frontends(t, s.Learning || d.Learn)
	if len(frontends) == 0 {
		return Division{Changed: len(s.Grants) > 0}
	}
	limit, wants, indebted := s.Limit, make([]uint64, 0, len(frontends)), false
	for _, f := range frontends {
		if f.silent {
			limit -= min(f.last, limit)
			continue
		}
		indebted = indebted || f.Debt > 0
		wants = append(wants, f.want(s.Limit, t))
	}
	targets := targetsOf(frontends, Fill(limit, wants))
	if !changed && !indebted && steady(s.Limit, frontends, targets) {
		d.Grants = s.Grants
		return d
	}
	for i, share := range gate(s.Limit, frontends, targets) {
		f := frontends[i]
		d.Grants = append(d.Grants, Grant{f.Frontend, f.Incarnation, share})
		changed = changed || share != f.last
	}
	d.Changed = changed
	return d
}

// frontends lists who takes part, by id. changed is true if they, or the limit, are not those of the last division.
func (s State) frontends(t Timing, learning bool) (out []frontend, changed bool) {
	changed = s.Limit != s.Divided
	granted := map[string]Grant{}
	for _, g := range s.Grants {
		granted[g.Frontend] = g
	}
	scaled := func(g Grant) uint64 { return quota.Share{Quota: g.Quota, Limit: s.Divided}.Of(s.Limit) }
	for _, r := range s.Reports {
		if r.Age > t.Expiry() {
			continue
		}
		f := frontend{Report: r}
		if g, ok := granted[r.Frontend]; ok && g.Incarnation == r.Incarnation {
			f.last = scaled(g)
		} else {
			changed = true
		}
		delete(granted, r.Frontend)
		out = append(out, f)
	}
	for _, g := range granted {
		if !learning {
			changed = true
			continue
		}
		out = append(out, frontend{
			Report: Report{Frontend: g.Frontend, Incarnation: g.Incarnation, Quota: scaled(g)}, last: scaled(g), silent: true,
		})
	}
	slices.SortFunc(out, func(a, b frontend) int { return cmp.Compare(a.Frontend, b.Frontend) })
	return out, changed
}

// want is what a frontend could use: a tenth more than its load and its debt within a heartbeat, at most the limit.
func (f frontend) want(limit uint64, t Timing) uint64 {
	if f.New {
		return limit
	}
	want := f.Load
	for _, more := range [...]uint64{f.Load/10 + min(f.Load%10, 1), perSecond(f.Debt, t.heartbeat())} {
		if want > limit || more > limit-want {
			return limit
		}
		want += more
	}
	return min(want, limit)
}

// perSecond returns amount ÷ d, a second, rounded up.
func perSecond(amount uint64, d time.Duration) uint64 {
	high, low := bits.Mul64(amount, uint64(time.Second))
	low, carry := bits.Add64(low, uint64(d)-1, 0)
	high += carry
	if high >= uint64(d) {
		return math.MaxUint64
	}
	q, _ := bits.Div64(high, low, uint64(d))
	return q
}

// targetsOf puts the shares of those that are not silent beside the kept ones of those that are.
func targetsOf(frontends []frontend, shares []uint64) []uint64 {
	out := make([]uint64, len(frontends))
	for i, f := range frontends {
		if f.silent {
			out[i] = f.last
			continue
		}
		out[i], shares = shares[0], shares[1:]
	}
	return out
}

// steady reports whether no share moves by more than a fiftieth of the limit.
func steady(limit uint64, frontends []frontend, targets []uint64) bool {
	for i, f := range frontends {
		if max(f.last, targets[i])-min(f.last, targets[i]) > max(limit/50, 1) {
			return false
		}
	}
	return true
}

// gate returns what may be published of the targets now.
func gate(limit uint64, frontends []frontend, targets []uint64) []uint64 {
	shares, wanted := make([]uint64, len(targets)), uint64(0)
	free := limit
	for i, f := range frontends {
		inForce := targets[i]
		if shares[i] = targets[i]; f.last != 0 {
			shares[i] = min(f.last, targets[i])
			inForce = max(shares[i], min(f.Quota, limit))
		}
		wanted += targets[i] - shares[i]
		free -= min(free, inForce)
	}
	if free >= wanted {
		return targets
	}
	rest := free
	for i := range shares {
		high, low := bits.Mul64(targets[i]-shares[i], free)
		more, _ := bits.Div64(high, low, wanted) // below free, since wanted is above free
		shares[i] += more
		rest -= more
	}
	for i := range shares { // less than one each is left
		if rest > 0 && shares[i] < targets[i] {
			shares[i]++
			rest--
		}
	}
	return shares
}

// Load is the load that a frontend reports: it follows a rising rate at once and a falling one by half each time.
func Load(last, rate uint64) uint64 { return max(rate, last/2+rate/2+(last%2+rate%2)/2) }
