package fairqueue

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

// Settings are the rules of one org. The zero value has the defaults.
type Settings struct {
	// Weight is the org's share against others'. Default 1.
	Weight float64
	// MaxRunning is the most slots of the org (max_concurrent_queries); 0 = no bound.
	MaxRunning int
	// MaxWaiting is the most queries of the org that wait. Default 100.
	MaxWaiting int
}

// DefaultMaxWaiting is how many queries of an org may wait unless its settings say otherwise.
const DefaultMaxWaiting = 100

func (s Settings) withDefaults() Settings {
	if !(s.Weight > 0) { // NaN as well
		s.Weight = 1
	}
	if s.MaxWaiting <= 0 {
		s.MaxWaiting = DefaultMaxWaiting
	}
	return s
}

// Options say how a queue works.
type Options struct {
	// Capacity is how many slots there are at first. Default 1.
	Capacity int
	// MaxWait is how long a query waits at most. Default 30 s.
	MaxWait time.Duration
	// Settings returns the rules of an org. It is asked under the queue's mutex for each query and must answer at once; nil = defaults.
	Settings func(tenant.ID) Settings
	// Registerer gets the metrics; nil: they are kept unregistered.
	Registerer prometheus.Registerer
}

// DefaultMaxWait is how long a query waits at most unless Options say otherwise.
const DefaultMaxWait = 30 * time.Second

func (o Options) withDefaults() Options {
	o.Capacity = max(o.Capacity, 1)
	if o.MaxWait <= 0 {
		o.MaxWait = DefaultMaxWait
	}
	if o.Settings == nil {
		o.Settings = func(tenant.ID) Settings { return Settings{} }
	}
	return o
}

// Ask says who wants a slot.
type Ask struct {
	// Orgs are charged, each in full; at least one.
	Orgs []tenant.ID
	// Actor says who asks within the orgs, the user or token first. Up to MaxActorLevels levels have turns of their own.
	Actor []string
	// Continues says that this is a further part of a query that has had a slot. Such a part waits as others do, but is not refused for
	// the number of those that wait.
	Continues bool
}

// Queue hands out slots. It is safe for concurrent use and runs no goroutine but, shortly, that of a timer.
type Queue struct {
	opts    Options
	metrics *metrics

	mu    sync.Mutex
	core  *core
	timer *time.Timer // runs lapsed at core.wake
}

// New returns a queue.
func New(opts Options) *Queue {
	opts = opts.withDefaults()
	q := &Queue{opts: opts, core: newCore(opts.Capacity, opts.Settings, time.Now())}
	q.metrics = newMetrics(opts.Registerer, q)
	return q
}

// SetCapacity changes how many slots there are. When there are fewer, those that are out are not taken back.
func (q *Queue) SetCapacity(n int) {
	q.with(func(c *core, now time.Time) {
		if n = max(n, 1); n != c.capacity {
			c.capacity = n
			c.dispatch(now)
		}
	})
}

// Capacity returns how many slots there are.
func (q *Queue) Capacity() (n int) {
	q.with(func(c *core, _ time.Time) { n = c.capacity })
	return n
}

// with runs do under the mutex and sets the timer for what follows.
func (q *Queue) with(do func(c *core, now time.Time)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	do(q.core, now)
	switch wake := q.core.wake; {
	case wake.IsZero():
		if q.timer != nil {
			q.timer.Stop()
		}
	case q.timer == nil:
		q.timer = time.AfterFunc(wake.Sub(now), q.lapsed)
	default:
		q.timer.Reset(wake.Sub(now))
	}
}

func (q *Queue) lapsed() { q.with((*core).dispatch) }

// Acquire waits for a slot, which the caller releases.
//
// Errors: fault.Limited at once when too many queries of an org wait, with the time after which one of them should have run;
// fault.Unavailable when MaxWait has passed; the context's when it ended.
func (q *Queue) Acquire(ctx context.Context, ask Ask) (*Slot, error) {
	if len(ask.Orgs) == 0 {
		return nil, fault.New(fault.Internal, "a query of no org")
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	ask.Orgs = slices.Compact(slices.Sorted(slices.Values(ask.Orgs)))
	s := &Slot{queue: q, waiter: &waiter{ask: ask, ready: make(chan struct{}, 1)}, arrived: time.Now()}
	var refusal error
	q.with(func(c *core, now time.Time) {
		if full := c.enqueue(s.waiter, now); full != nil {
			refusal = full.refusal()
			q.metrics.left(full.org, outcomeRefused)
			return
		}
	})
	if refusal != nil {
		return nil, refusal
	}
	if err := s.wait(ctx, q.opts.MaxWait); err != nil {
		return nil, err
	}
	return s, nil
}

// refusal is what a query is told when the line is full.
func (l *line) refusal() error {
	service := l.service
	if service == 0 {
		service = time.Second
	}
	wait := time.Duration(l.waiting) * service / time.Duration(max(l.running, 1))
	wait = min(max((wait+time.Second-1).Truncate(time.Second), time.Second), 30*time.Second)
	return fault.New(fault.Limited, "too many outstanding queries of org %q: %d wait, the limit is %d, and %d run; ask again in %s",
		string(l.org), l.waiting, l.settings.MaxWaiting, l.running, wait).After(wait)
}

// Slot is leave to run a query. It is given back by Release.
type Slot struct {
	queue    *Queue
	waiter   *waiter
	arrived  time.Time
	waited   time.Duration
	released bool // under queue.mu
	requeued bool // under queue.mu
}

// Waited returns how long the query stood in line.
func (s *Slot) Waited() time.Duration { return s.waited }

// Release gives the slot back. Only the first call counts.
func (s *Slot) Release() {
	s.queue.with(func(c *core, now time.Time) {
		if s.released {
			return
		}
		s.released = true
		c.finish(s.waiter, now)
	})
}

// Requeue gives the slot back because nobody was there to run the query, and waits for another, before all other queries of the org.
// That is done once: a second call, like every failure, releases the slot for good and returns an error. The errors are those of
// Acquire.
func (s *Slot) Requeue(ctx context.Context) error {
	again := false
	s.queue.with(func(c *core, now time.Time) {
		if s.released || s.requeued {
			return
		}
		again, s.requeued = true, true
		c.requeue(s.waiter, now)
	})
	if !again {
		s.Release()
		s.queue.metrics.left(s.waiter.home.org, outcomeBusy)
		return fault.New(fault.Unavailable, "all queriers are busy with queries of others")
	}
	return s.wait(ctx, s.queue.opts.MaxWait-time.Since(s.arrived))
}

// wait returns nil once the slot is given.
func (s *Slot) wait(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	var err error
	outcome := outcomeTimedOut
	select {
	case <-s.waiter.ready:
		s.started()
		return nil
	case <-timer.C:
		err = fault.New(fault.Unavailable, "the query has waited %s for its turn, the longest that it may; too many queries are under way",
			s.queue.opts.MaxWait)
	case <-ctx.Done():
		err, outcome = context.Cause(ctx), outcomeCanceled
		if fault.Is(err, fault.Deadline) {
			err, outcome = fmt.Errorf("wait for a turn: %w", err), outcomeDeadline
		}
	}
	given := false
	s.queue.with(func(c *core, now time.Time) {
		if given = !s.waiter.granted.IsZero(); !given {
			s.released = true
			c.cancel(s.waiter, now)
		}
	})
	if given { // in the same moment
		if ctx.Err() == nil {
			<-s.waiter.ready
			s.started()
			return nil
		}
		s.Release()
	}
	s.queue.metrics.left(s.waiter.home.org, outcome)
	return err
}

func (s *Slot) started() {
	s.waited = time.Since(s.arrived)
	for _, org := range s.waiter.ask.Orgs {
		s.queue.metrics.waited(org, s.waited)
	}
}
