package ingest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
)

// Bounds of a flush round.
const (
	maxRoundDatasets = 200       // datasets that one catalog transaction publishes
	maxFlushBytes    = 64 << 20  // Arrow bytes of one dataset in a round
	maxRoundBytes    = 256 << 20 // Arrow bytes of all datasets in a round
	commitAttempts   = 5
	// maxShipmentAge bounds the time from the first upload of a round to its commit. The sweep of orphans deletes unregistered objects
	// after twice that or more, so one that is about to be registered is never swept.
	maxShipmentAge = 30 * time.Minute
)

// Bounds after which a dataset that cannot be flushed stops holding the log (decisions C5).
const (
	asideAfter = 10 * time.Minute
	asideBytes = 1 << 30
)

// Run flushes by time and size until ctx ends. It returns when the round under way has ended.
func (g *Ingest) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-g.kick:
			g.flushDue(ctx)
		case <-g.deps.Clock.After(g.tick()):
			g.flushDue(ctx)
			g.endOlder(ctx)
			g.moveAside(ctx)
		}
	}
}

// tick is how often buffers are looked at.
func (g *Ingest) tick() time.Duration { return max(g.opts.FlushInterval/10, 10*time.Millisecond) }

// due reports whether a buffer is to be flushed now: too old, too large, of an earlier epoch, or memory is short and the buffer
// holds more than its share of it.
func (g *Ingest) due(b *buffer, s state) bool {
	return s.bytes >= g.opts.BufferMaxSize || g.deps.Clock.Now().Sub(s.oldest) >= g.opts.FlushInterval ||
		b.key.Epoch != g.writer.Epoch || (g.memory.pressed() && s.bytes >= g.fairShare())
}

// fairShare is the bytes that a buffer would hold if all held the same: flushing those above it frees at least half of the memory
// with few files.
func (g *Ingest) fairShare() int64 {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.memory.used() / int64(2*max(1, len(g.mu.buffers)))
}

// Flush writes everything that is durable now into segments. It returns the first error; rows that could not be flushed stay in
// the buffers and the log.
func (g *Ingest) Flush(ctx context.Context) error {
	return g.flush(ctx, func(*buffer, state) bool { return true })
}

// flushDue flushes what due chooses; flush has logged and counted what went wrong, and the next look tries again.
func (g *Ingest) flushDue(ctx context.Context) { _ = g.flush(ctx, g.due) }

func (g *Ingest) flushAll(ctx context.Context) {
	if err := g.Flush(ctx); err != nil {
		g.deps.Logger.Warn("flush incomplete", "error", err)
	}
}

// flush runs rounds until no buffer that want chooses has durable rows, or a round fails.
func (g *Ingest) flush(ctx context.Context, want func(*buffer, state) bool) error {
	for ctx.Err() == nil {
		chosen := g.choose(want)
		if len(chosen) == 0 {
			return nil
		}
		var errs []error
		progress := false
		for _, round := range splitRounds(chosen) {
			advanced, err := g.round(ctx, round)
			progress = progress || advanced
			errs = append(errs, err)
		}
		if err := errors.Join(errs...); err != nil || !progress {
			if err != nil && ctx.Err() == nil {
				g.metrics.flushErrors.Inc()
				g.deps.Logger.Warn("flush round failed, rows stay in the buffers and the log", "error", err)
			}
			return err
		}
	}
	return ctx.Err()
}

// choose returns the buffers to flush: earlier epochs first (see the package's invariants), then the largest. A buffer whose
// dataset has rows of an earlier epoch waits for them.
func (g *Ingest) choose(want func(*buffer, state) bool) []*buffer {
	type candidate struct {
		*buffer
		bytes int64
	}
	var out []candidate
	oldest := make(map[int64]int64) // dataset → earliest epoch of this node id with rows
	for _, b := range g.all() {
		s := b.state()
		if s.empty || s.fenced {
			continue
		}
		if e, ok := oldest[b.key.Dataset]; b.key.Node == g.writer.Node && (!ok || b.key.Epoch < e) {
			oldest[b.key.Dataset] = b.key.Epoch
		}
		if want(b, s) {
			out = append(out, candidate{b, s.bytes})
		}
	}
	out = slices.DeleteFunc(out, func(c candidate) bool {
		return c.key.Node == g.writer.Node && c.key.Epoch > oldest[c.key.Dataset]
	})
	slices.SortFunc(out, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.key.Epoch, b.key.Epoch), cmp.Compare(a.key.Node, b.key.Node), cmp.Compare(b.bytes, a.bytes))
	})
	buffers := make([]*buffer, len(out))
	for i, c := range out {
		buffers[i] = c.buffer
	}
	return buffers
}

// splitRounds cuts sorted buffers into rounds of one writer epoch each, within the bounds of a round.
func splitRounds(buffers []*buffer) [][]*buffer {
	var rounds [][]*buffer
	var bytes int64
	for i, b := range buffers {
		size := min(b.state().bytes, maxFlushBytes)
		fits := i > 0 && b.key.Node == buffers[i-1].key.Node && b.key.Epoch == buffers[i-1].key.Epoch &&
			len(rounds[len(rounds)-1]) < maxRoundDatasets && bytes+size <= maxRoundBytes
		if !fits {
			rounds, bytes = append(rounds, nil), 0
		}
		bytes += size
		rounds[len(rounds)-1] = append(rounds[len(rounds)-1], b)
	}
	return rounds
}

// round flushes a prefix of each buffer, all of one writer epoch, with one catalog transaction. It reports whether any buffer got
// shorter.
func (g *Ingest) round(ctx context.Context, buffers []*buffer) (advanced bool, err error) {
	started := g.deps.Clock.Now()
	var parts []*shipment
	var errs []error
	locked := lockFree(buffers)
	defer func() {
		for _, b := range locked {
			b.flushing.Unlock()
		}
	}()
	for _, b := range locked {
		s, err := g.ship(ctx, b)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if s != nil {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return false, errors.Join(errs...)
	}
	if age := g.deps.Clock.Now().Sub(started); age > maxShipmentAge {
		for _, s := range parts {
			g.discard(ctx, s)
		}
		return false, errors.Join(append(errs, fault.New(fault.Unavailable, "uploading took %s, which is too long to commit", age))...)
	}
	results, err := g.commit(ctx, parts)
	if err != nil {
		// The outcome is unknown, so the objects may be registered: the sweep of orphans decides about them.
		return false, errors.Join(append(errs, err)...)
	}
	for i, r := range results {
		g.settle(ctx, parts[i], r)
	}
	g.metrics.flushSeconds.Observe(g.deps.Clock.Now().Sub(started).Seconds())
	return true, errors.Join(errs...)
}

// lockFree locks the buffers that no other caller is flushing and returns them.
func lockFree(buffers []*buffer) []*buffer {
	var locked []*buffer
	for _, b := range buffers {
		if b.flushing.TryLock() {
			locked = append(locked, b)
		}
	}
	return locked
}

// commit publishes the shipments, asking again when the answer was lost: the repeat of a range is harmless.
func (g *Ingest) commit(ctx context.Context, parts []*shipment) ([]catalog.CommitResult, error) {
	c := catalog.Commit{Node: parts[0].buffer.key.Node, Epoch: parts[0].buffer.key.Epoch}
	for _, s := range parts {
		c.Datasets = append(c.Datasets, s.commit)
	}
	wait := 50 * time.Millisecond
	for attempt := 1; ; attempt++ {
		results, err := g.deps.Catalog.Commit(ctx, c)
		if err == nil || attempt == commitAttempts || ctx.Err() != nil {
			return results, err
		}
		g.deps.Logger.Warn("catalog commit failed, asking again", "attempt", attempt, "error", err)
		select {
		case <-g.deps.Clock.After(wait):
			wait *= 2
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// settle does what the outcome of one dataset demands.
func (g *Ingest) settle(ctx context.Context, s *shipment, r catalog.CommitResult) {
	b := s.buffer
	switch r.Outcome {
	case catalog.Committed, catalog.Repeated:
		if r.Outcome == catalog.Committed {
			g.metrics.segments.Add(float64(len(s.commit.Segments)))
		}
		g.release(b, s.commit.To)
	case catalog.Stale:
		g.deps.Logger.Warn("range was committed before, trimming", "key", b.key.String(), "from", s.commit.From, "current", r.Current)
		g.discard(ctx, s)
		g.release(b, r.Current)
	case catalog.Fenced:
		g.deps.Logger.Error("dataset is fenced: another process with this node.id has committed to it; its rows stay in the log",
			"key", b.key.String(), "stream", b.dataset.String())
		g.discard(ctx, s)
		g.memory.release(b.dataset.Org, b.fence())
		g.metrics.fenced.Inc()
	case catalog.Gone:
		g.deps.Logger.Warn("dataset was dropped, its rows go with it", "key", b.key.String(), "stream", b.dataset.String())
		g.discard(ctx, s)
		g.names.forget(catalog.DatasetID(b.key.Dataset))
		g.release(b, s.commit.To)
	}
}

// release drops the rows that the catalog has from the buffer and the log.
func (g *Ingest) release(b *buffer, upTo uint64) {
	g.memory.release(b.dataset.Org, b.drop(upTo, g.deps.Clock.Now()))
	g.log.Release(b.key, upTo)
}

// discard deletes objects that were not registered. What cannot be deleted now is an orphan for the sweep.
func (g *Ingest) discard(ctx context.Context, s *shipment) {
	for _, seg := range s.commit.Segments {
		for _, key := range []string{seg.Key, seg.IndexKey} {
			if key == "" {
				continue
			}
			if err := g.deps.Objects.Delete(ctx, key); err != nil {
				g.deps.Logger.Warn("unregistered object not deleted", "key", key, "error", err)
			}
		}
	}
}

// moveAside copies the live records of datasets that hold the log for too long out of it.
func (g *Ingest) moveAside(ctx context.Context) {
	for _, k := range g.log.Stats().Blocking {
		if k.Age < asideAfter && k.Bytes < asideBytes {
			continue
		}
		if err := g.log.MoveAside(ctx, k.Key); err != nil {
			g.deps.Logger.Warn("records not moved out of the log", "key", k.String(), "error", err)
		}
	}
}

// Close refuses new writes, flushes what is buffered until ctx ends, takes the epoch off the list of holders when nothing is left,
// and closes the log. What could not be flushed is replayed at the next start. Run must have returned.
func (g *Ingest) Close(ctx context.Context) error {
	if g.log == nil {
		return nil
	}
	err := g.Ready()
	wasReady := err == nil || errors.Is(err, ErrDraining)
	g.setPhase(phaseDraining)
	var errs []error
	if wasReady {
		errs = append(errs, g.drain(ctx))
	}
	errs = append(errs, g.log.Close())
	return errors.Join(errs...)
}

// Drain refuses new writes, flushes what is buffered, trying again until nothing is left or ctx ends, and takes the epoch off the list of
// holders. Fresh reads are still answered. Run may go on meanwhile; Close comes afterwards as ever.
func (g *Ingest) Drain(ctx context.Context) error {
	if err := g.Ready(); err != nil && !errors.Is(err, ErrDraining) {
		return err
	}
	g.setPhase(phaseDraining)
	for {
		err := g.Flush(ctx)
		if g.Empty() {
			g.endOlder(ctx)
			if err = g.deps.Catalog.EndWriter(ctx, g.writer.Node, g.writer.Epoch); err == nil {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-g.deps.Clock.After(time.Second):
		}
	}
}

func (g *Ingest) drain(ctx context.Context) error {
	if err := g.Flush(ctx); err != nil {
		g.deps.Logger.Warn("rows left in the write-ahead log for the next start", "error", err)
		return nil
	}
	g.endOlder(ctx)
	if !g.Empty() {
		return nil
	}
	return g.deps.Catalog.EndWriter(ctx, g.writer.Node, g.writer.Epoch)
}

// Empty reports whether no buffer holds rows.
func (g *Ingest) Empty() bool {
	return !slices.ContainsFunc(g.all(), func(b *buffer) bool { s := b.state(); return !s.empty || s.fenced })
}

// Unflushed returns the rows in the buffers.
func (g *Ingest) Unflushed() (rows, bytes int64) {
	for _, b := range g.all() {
		s := b.state()
		rows, bytes = rows+s.rows, bytes+s.bytes
	}
	return rows, bytes
}
