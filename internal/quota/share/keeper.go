package share

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/quota"
)

// Source is what enforces budgets in this process: quota.Rows, quota.Bytes. Shares of budgets of other kinds are ignored by it.
type Source interface {
	Usage() []quota.Usage
	Apply(b quota.Budget, s quota.Share)
}

// Options are of a Keeper.
type Options struct {
	Self      Frontend
	Heartbeat time.Duration // default 1 s
	Clock     clock.Clock
	Logger    *slog.Logger // nil: discard
	// Registerer takes the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
}

// Pace of what does not wait for the heartbeat.
const (
	wantedPause = 200 * time.Millisecond // between two heartbeats out of turn
	busyPause   = 20 * time.Millisecond  // before a division that another frontend is making is asked for again
	busyTries   = 5                      // of it
)

// Keeper keeps the shares of one process. Beat and Leave take turns; Wanted may be called at any time.
type Keeper struct {
	o       Options
	store   Store
	sources []Source
	metrics *metrics
	wake    chan struct{}

	turn   chan struct{} // held during Beat and Leave
	meters map[quota.Budget]*meter
	left   bool
	failed bool

	mu     sync.Mutex
	wanted map[quota.Budget]struct{}
	told   time.Time // the store's clock when it was last heard
	heard  time.Time // this process's clock then; zero: never
}

// New returns a keeper that does nothing before Beat or Run.
func New(o Options, store Store, sources ...Source) *Keeper {
	if o.Heartbeat <= 0 {
		o.Heartbeat = time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Keeper{
		o: o, store: store, sources: sources, metrics: newMetrics(o.Registerer), wake: make(chan struct{}, 1), turn: make(chan struct{}, 1),
		meters: map[quota.Budget]*meter{}, wanted: map[quota.Budget]struct{}{},
	}
}

// Wanted asks for a division of the budget now. It does not block.
func (k *Keeper) Wanted(b quota.Budget) {
	k.mu.Lock()
	k.wanted[b] = struct{}{}
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default: // asked for already
	}
}

func (k *Keeper) takeWanted() map[quota.Budget]struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	wanted := k.wanted
	k.wanted = map[quota.Budget]struct{}{}
	return wanted
}

// Now returns the store's time as far as it is known: that of the last answer and what has passed here since. Before the first answer it is
// this process's own.
func (k *Keeper) Now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.o.Clock.Now()
	if k.heard.IsZero() {
		return now.UTC()
	}
	return k.told.Add(now.Sub(k.heard))
}

func (k *Keeper) hear(told time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told, k.heard = told.UTC(), k.o.Clock.Now()
}

// Run beats until ctx ends. It does not leave.
func (k *Keeper) Run(ctx context.Context) error {
	next := k.o.Clock.Now().Add(rand.N(k.o.Heartbeat)) // frontends that started together do not beat together
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-k.wake:
		case <-k.o.Clock.After(max(next.Sub(k.o.Clock.Now()), 0)):
			next = k.o.Clock.Now().Add(k.o.Heartbeat)
		}
		beat, cancel := context.WithTimeout(ctx, 2*k.o.Heartbeat)
		err := k.Beat(beat)
		cancel()
		k.note(ctx, err)
		select {
		case <-ctx.Done():
			return nil
		case <-k.o.Clock.After(wantedPause):
		}
	}
}

// note logs when beats begin or cease to fail.
func (k *Keeper) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	k.metrics.beat(err)
	switch {
	case err != nil && !k.failed:
		k.o.Logger.WarnContext(ctx, "shares of limits not read; going on with the last ones", "error", err)
	case err == nil && k.failed:
		k.o.Logger.InfoContext(ctx, "shares of limits read again")
	}
	k.failed = err != nil
}

// Leave gives the shares back at once and ends all beats: the process takes no more writes.
func (k *Keeper) Leave(ctx context.Context) error {
	if err := k.take(ctx); err != nil {
		return err
	}
	defer k.give()
	k.left = true
	if len(k.meters) == 0 {
		return nil
	}
	return k.store.Leave(ctx, k.o.Self)
}

func (k *Keeper) take(ctx context.Context) error {
	select {
	case k.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *Keeper) give() { <-k.turn }
