package quota

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/quota/debt"
	"github.com/millstream/millstream/internal/tenant"
)

// maxFrozen is how many databases without a limit are remembered for the debt that they had when they lost it.
const maxFrozen = 1000

// Database names a database of an org.
type Database struct {
	Org  tenant.ID
	Name string
}

// RowLimit is the limit of a database.
type RowLimit struct {
	PerSecond uint64 // 0 = none
	// ID tells the database from a later one of the same name, which owes nothing of its debt; 0 = not known.
	ID int64
}

// Charge is rows that a request adds to a database.
type Charge struct {
	Database
	Rows int64
}

// RowsOptions are the collaborators of Rows.
type RowsOptions struct {
	Clock clock.Clock
	// Limit is asked at each request and must answer from memory.
	Limit func(Database) RowLimit
	// Frontends is how many processes take writes, itself included: what a bucket begins with is divided by it. nil = 1.
	Frontends func() int
	// Wanted is told of budgets that should be divided soon: one without a share that is written to, one that has come into a debt of
	// more than a second, one whose limit has changed. It must not block. nil: nothing is divided, each limit is the quota.
	Wanted func(Budget)
	// Owing is told when a request left a debt of more than a second. It must not block; nil: nobody is told.
	Owing func()
	// Registerer takes the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
}

// Rows are the debt buckets of all databases that have a row limit. Its methods are safe for concurrent use.
type Rows struct {
	o       RowsOptions
	metrics *metrics

	mu        sync.Mutex
	databases map[Database]*rows
	restored  map[Database]Tokens
	// scarce says that buckets begin empty, because it is not known what the process before this one spent.
	scarce bool
}

// rows is the state of one database.
type rows struct {
	limit             RowLimit
	share             Share
	bucket            debt.Bucket
	accepted, refused uint64
	used              time.Time // when rows were offered last, or the limit changed
}

// NewRows returns buckets. One is made when rows come for a database with a limit; it begins full, or with its part of one second when
// there are other frontends.
func NewRows(o RowsOptions) *Rows {
	r := &Rows{o: o, databases: map[Database]*rows{}, restored: map[Database]Tokens{}}
	r.metrics = newMetrics(KindRows, r.Usage, o.Registerer)
	return r
}

// internalKey marks contexts of writes that clients did not send.
type internalKey struct{}

// Internal marks the writes of a context as the process's own, such as derived rows and telemetry: they are neither charged nor refused.
// Nothing that a client sends leads here.
func Internal(ctx context.Context) context.Context {
	return context.WithValue(ctx, internalKey{}, true)
}

// IsInternal reports whether ctx was marked by Internal.
func IsInternal(ctx context.Context) bool {
	internal, _ := ctx.Value(internalKey{}).(bool)
	return internal
}

// Limited reports whether writes of the context to the database are counted.
func (r *Rows) Limited(ctx context.Context, d Database) bool {
	return r != nil && !IsInternal(ctx) && r.o.Limit(d).PerSecond > 0
}

// Admit charges the rows of one request, all or none: every database named must have one whole token. Otherwise it fails with a
// *RowsRefused. Databases without a limit and charges of no rows always pass. What was charged is never given back.
func (r *Rows) Admit(ctx context.Context, charges ...Charge) error {
	if r == nil || IsInternal(ctx) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Clock.Now()
	for _, c := range charges {
		if d := r.database(c.Database, now); d != nil && c.Rows > 0 {
			d.used = now
			r.wantShare(c.Database, d)
			if wait := d.bucket.Wait(now); wait > 0 {
				d.refused += uint64(c.Rows)
				r.metrics.refuse(c.budget(), c.Rows)
				return newRowsRefused(c, d.bucket.Quota(), d.limit.PerSecond, wait, r.delay(d, wait, now))
			}
		}
	}
	for _, c := range charges {
		if d := r.databases[c.Database]; d != nil && c.Rows > 0 {
			d.bucket.Take(c.Rows, now)
			d.accepted += uint64(c.Rows)
			if owed := -d.bucket.Tokens(now); d.limit.PerSecond > 0 && owed > 0 && uint64(owed) > d.bucket.Quota() {
				r.want(c.Database)
				r.owe()
			}
		}
	}
	return nil
}

// settling is how long a share takes to follow a debt: two heartbeats.
const settling = 2 * time.Second

// delay is how long a refused client is told to wait. A frontend that had nothing to do has a tiny share; since a debt brings it at least
// its part of the limit soon, the client need not wait for what the tiny share would take.
func (r *Rows) delay(d *rows, wait time.Duration, now time.Time) time.Duration {
	if d.share.Limit == 0 || r.o.Frontends == nil {
		return wait
	}
	part := max(d.limit.PerSecond/uint64(max(1, r.o.Frontends())), 1)
	if soon := d.bucket.WaitAt(part, now); soon < wait-settling {
		return soon + settling
	}
	return wait
}

// database brings the state of a database up to its limit; nil when it never had one.
func (r *Rows) database(name Database, now time.Time) *rows {
	limit := r.o.Limit(name)
	d, ok := r.databases[name]
	if ok && limit.ID != 0 && d.limit.ID != 0 && limit.ID != d.limit.ID {
		delete(r.databases, name)
		ok = false
	}
	if !ok {
		if limit.PerSecond == 0 {
			return nil
		}
		d = &rows{limit: limit, used: now, bucket: debt.With(limit.PerSecond, r.initial(name, limit, now), now)}
		r.databases[name] = d
		return d
	}
	r.adopt(name, d, limit, now)
	return d
}

// adopt lets a change of the limit count from now on.
func (r *Rows) adopt(name Database, d *rows, limit RowLimit, now time.Time) {
	if limit.ID == 0 {
		limit.ID = d.limit.ID
	}
	if d.limit == limit {
		return
	}
	d.limit, d.used = limit, now
	d.enforce(now)
	r.want(name)
}

// enforce sets the bucket to what limit and share say together.
func (d *rows) enforce(now time.Time) {
	if d.limit.PerSecond == 0 {
		d.bucket.SetQuota(0, now)
		return
	}
	d.bucket.SetQuota(d.share.Of(d.limit.PerSecond), now)
}

func (r *Rows) wantShare(name Database, d *rows) {
	if d.share.Limit == 0 && d.limit.PerSecond > 0 {
		r.want(name)
	}
}

func (r *Rows) want(name Database) {
	if r.o.Wanted != nil {
		r.o.Wanted(name.budget())
	}
}

func (r *Rows) owe() {
	if r.o.Owing != nil {
		r.o.Owing()
	}
}

func (d Database) budget() Budget { return Budget{Kind: KindRows, Org: d.Org, Database: d.Name} }

// Refresh lets limits that have changed count from now on where nothing is written either, and forgets databases that need no state.
func (r *Rows) Refresh() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Clock.Now()
	frozen := 0
	for name, d := range r.databases {
		r.adopt(name, d, r.o.Limit(name), now)
		switch {
		case d.share.Limit != 0: // it is given back first
		case d.limit.PerSecond == 0 && d.bucket.Tokens(now) < 0 && frozen < maxFrozen:
			frozen++
		case d.limit.PerSecond == 0, d.bucket.IsFull(now) && now.Sub(d.used) > MaxIdle:
			delete(r.databases, name)
		}
	}
}

// Usage lists the databases that have state, for the division of their limits.
func (r *Rows) Usage() []Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Clock.Now()
	out := make([]Usage, 0, len(r.databases))
	for name, d := range r.databases {
		u := Usage{
			Budget: name.budget(), Limit: min(d.limit.PerSecond, math.MaxInt64), Quota: d.bucket.Quota(), Epoch: d.share.Epoch,
			Accepted: d.accepted, Refused: d.refused, Idle: now.Sub(d.used),
		}
		if owed := d.bucket.Tokens(now); owed < 0 {
			u.Debt = uint64(-owed)
		}
		out = append(out, u)
	}
	return out
}

// Apply puts a share into force; the zero Share takes it away, and the state of a database that is full: the next write begins anew.
// Budgets of other kinds and databases without state are ignored.
func (r *Rows) Apply(b Budget, s Share) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := Database{b.Org, b.Database}
	d, ok := r.databases[name]
	if !ok || b.Kind != KindRows {
		return
	}
	now := r.o.Clock.Now()
	if s.Limit == 0 && d.bucket.IsFull(now) {
		delete(r.databases, name)
		return
	}
	d.share = s
	d.enforce(now)
}
