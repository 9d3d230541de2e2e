package holders

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fresh"
)

// Defaults of Options.
const (
	DefaultListFor = 2 * time.Second
	DefaultTimeout = time.Second
)

// Options are the settings of a Reader.
type Options struct {
	ListFor time.Duration // how old the list of writers may be
	Timeout time.Duration // for the answer of one process (querier.buffer_timeout_ms)
}

// Writers lists the writer epochs that may hold rows.
type Writers interface {
	Writers(ctx context.Context) ([]catalog.Writer, error)
}

// Holder is a process that holds rows.
type Holder interface {
	// Snapshot returns its fresh rows, which the caller owns, and the writer epochs that they are complete for.
	Snapshot(ctx context.Context, q fresh.Request) (fresh.Result, []catalog.WriterKey, error)
}

// Deps are the collaborators.
type Deps struct {
	Writers    Writers
	Holder     func(address string) (Holder, error) // the process at an address
	Clock      clock.Clock                          // nil: the system's
	Logger     *slog.Logger                         // nil: discard
	Registerer prometheus.Registerer                // nil: no metrics
}

// Reader implements querier.Buffers over a cluster. It is safe for concurrent use.
type Reader struct {
	opts   Options
	deps   Deps
	missed prometheus.Counter
	flight singleflight.Group
	mu     struct {
		sync.Mutex
		writers []catalog.Writer // as of the last read that succeeded
		began   time.Time        // when that read began
		reads   int64            // its number, 0 = none yet
		begun   int64            // reads that have begun
	}
}

// New returns a Reader that has asked nobody yet.
func New(opts Options, deps Deps) *Reader {
	if opts.ListFor <= 0 {
		opts.ListFor = DefaultListFor
	}
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Reader{opts: opts, deps: deps, missed: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "millstream_fresh_reads_incomplete_total", Help: "Fresh reads that a writer epoch did not answer.",
	})}
	if deps.Registerer != nil {
		deps.Registerer.MustRegister(r.missed)
	}
	return r
}

// Snapshot implements querier.Buffers.
func (r *Reader) Snapshot(ctx context.Context, q fresh.Request) (fresh.Result, error) {
	writers, err := r.recent(ctx)
	if err != nil {
		return fresh.Result{}, err
	}
	var out fresh.Result
	open := r.ask(ctx, q, writers, &out)
	if len(open) == 0 {
		return out, nil
	}
	if err := ctx.Err(); err != nil {
		out.Release()
		return fresh.Result{}, err
	}
	now, err := r.latest(ctx)
	if err != nil {
		out.Release()
		return fresh.Result{}, err
	}
	var moved []catalog.Writer
	for _, o := range open {
		i := slices.IndexFunc(now, func(w catalog.Writer) bool { return keyOf(w) == keyOf(o.Writer) })
		switch {
		case i < 0: // ended: the catalog has all its rows
		case now[i].Address != o.Address:
			moved = append(moved, now[i])
		default:
			r.warn(&out, o)
		}
	}
	for _, o := range r.ask(ctx, q, moved, &out) {
		r.warn(&out, o)
	}
	return out, nil
}

// warn names an epoch whose rows may be missing.
func (r *Reader) warn(out *fresh.Result, o unanswered) {
	r.missed.Inc()
	r.deps.Logger.Warn("fresh rows of a writer epoch could not be read",
		"node", o.Node, "epoch", o.Epoch, "address", o.Address, "error", o.err)
	out.Warnings = append(out.Warnings, fmt.Sprintf("node %s epoch %d unreachable, rows since %s may be missing",
		o.Node, o.Epoch, o.Started.UTC().Format(time.RFC3339)))
}

func keyOf(w catalog.Writer) catalog.WriterKey {
	return catalog.WriterKey{Node: w.Node, Epoch: w.Epoch}
}

// unanswered is an epoch that no answer has covered.
type unanswered struct {
	catalog.Writer
	err error
}

// ask asks the process of each writer once, all at the same time, and adds what they have to out. It returns the writers that no
// answer has covered, sorted as they came.
func (r *Reader) ask(ctx context.Context, q fresh.Request, writers []catalog.Writer, out *fresh.Result) []unanswered {
	var addresses []string
	for _, w := range writers {
		if !slices.Contains(addresses, w.Address) {
			addresses = append(addresses, w.Address)
		}
	}
	replies := make([]reply, len(addresses))
	var wait sync.WaitGroup
	for i, a := range addresses {
		wait.Go(func() { replies[i] = r.askOne(ctx, q, a) })
	}
	wait.Wait()
	covered := make(map[catalog.WriterKey]bool)
	for _, x := range replies {
		join(out, x.rows)
		for _, k := range x.holding {
			covered[k] = true
		}
	}
	var open []unanswered
	for _, w := range writers {
		if !covered[keyOf(w)] {
			open = append(open, unanswered{w, replies[slices.Index(addresses, w.Address)].err})
		}
	}
	return open
}

// join adds what one process has answered. Two processes that have found copies of one log answer with the same records: of those one is
// kept, told by writer, dataset and sequence.
func join(out *fresh.Result, more fresh.Result) {
	type place struct {
		writer  catalog.WriterKey
		dataset catalog.DatasetID
	}
	have := make(map[place]map[uint64]bool)
	for _, s := range out.Snapshots {
		at := place{s.Writer, s.Dataset}
		if have[at] == nil {
			have[at] = make(map[uint64]bool)
		}
		for _, c := range s.Chunks {
			have[at][c.Seq] = true
		}
	}
	for i := range more.Snapshots {
		s := &more.Snapshots[i]
		known := have[place{s.Writer, s.Dataset}]
		s.Chunks = slices.DeleteFunc(s.Chunks, func(c fresh.Chunk) bool {
			if known[c.Seq] {
				c.Record.Release()
			}
			return known[c.Seq]
		})
	}
	out.Join(more)
}

// reply is what one process has answered.
type reply struct {
	rows    fresh.Result
	holding []catalog.WriterKey
	err     error
}

func (r *Reader) askOne(ctx context.Context, q fresh.Request, address string) (out reply) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	h, err := r.deps.Holder(address)
	if err != nil {
		return reply{err: err}
	}
	out.rows, out.holding, out.err = h.Snapshot(ctx, q)
	return out
}

// recent returns the writers as of at most Options.ListFor ago.
func (r *Reader) recent(ctx context.Context) ([]catalog.Writer, error) {
	r.mu.Lock()
	writers, age, known := r.mu.writers, r.deps.Clock.Now().Sub(r.mu.began), r.mu.reads > 0
	r.mu.Unlock()
	if known && age <= r.opts.ListFor {
		return writers, nil
	}
	return r.latest(ctx)
}

// latest returns the writers as of a moment after the call. Concurrent calls share a read that begins after them.
func (r *Reader) latest(ctx context.Context) ([]catalog.Writer, error) {
	r.mu.Lock()
	next := r.mu.begun + 1 // the number of the first read that begins from now on
	r.mu.Unlock()
	for {
		if err := r.refresh(ctx); err != nil {
			return nil, err
		}
		r.mu.Lock()
		writers, done := r.mu.writers, r.mu.reads >= next
		r.mu.Unlock()
		if done {
			return writers, nil
		}
	}
}

// refresh reads the list, or waits for the read that is under way.
func (r *Reader) refresh(ctx context.Context) error {
	// The read is shared, so that the end of one reader's context must not end it.
	done := r.flight.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
		defer cancel()
		r.mu.Lock()
		r.mu.begun++
		number := r.mu.begun
		r.mu.Unlock()
		began := r.deps.Clock.Now()
		writers, err := r.deps.Writers.Writers(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the writers: %w", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.mu.writers, r.mu.began, r.mu.reads = writers, began, number
		return nil, nil
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refreshTimeout bounds a read of the list; a catalog that takes longer is away.
const refreshTimeout = 10 * time.Second
