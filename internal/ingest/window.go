package ingest

import (
	"sync"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wal"
)

// Bounds of the window (decisions D1).
const (
	windowBatches = 1024 // remembered of an origin
	windowOrigins = 256  // remembered at all; the one that was heard least recently goes
)

// window remembers which identified batches are in the log, so that a sender whose answer was lost may ask again. It is filled
// again by the replay. A batch older than the window, or one whose log was flushed and deleted before two restarts, is not known
// any more: senders ask again once, within seconds.
type window struct {
	mu      sync.Mutex
	origins map[uint64]*origin
	tick    uint64 // orders origins by use
}

// origin is the last batches of one sender.
type origin struct {
	claims map[uint64]*claim
	order  []uint64 // numbers in the order of their claim; some may be given up already
	used   uint64
}

// claim is a batch that is being logged or was.
type claim struct {
	settled chan struct{} // closed when lsn and err are set
	lsn     wal.LSN       // 0: found by the replay
	err     error         // nothing of the batch is in the log
}

// take returns the claim of a batch, and whether it is the caller's: then the caller logs the batch and calls settle.
func (w *window) take(id signal.BatchID) (c *claim, mine bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.originLocked(id.Origin)
	if c, ok := o.claims[id.Number]; ok {
		return c, false
	}
	c = &claim{settled: make(chan struct{})}
	o.claims[id.Number] = c
	o.order = append(o.order, id.Number)
	if len(o.order) > windowBatches {
		delete(o.claims, o.order[0])
		o.order = o.order[1:]
	}
	return c, true
}

func (w *window) originLocked(id uint64) *origin {
	w.tick++
	o := w.origins[id]
	if o == nil {
		if w.origins == nil {
			w.origins = make(map[uint64]*origin)
		}
		if len(w.origins) >= windowOrigins {
			w.evictLocked()
		}
		o = &origin{claims: make(map[uint64]*claim)}
		w.origins[id] = o
	}
	o.used = w.tick
	return o
}

// evictLocked forgets the origin that was heard least recently.
func (w *window) evictLocked() {
	var oldest uint64
	first := true
	for id, o := range w.origins {
		if first || o.used < w.origins[oldest].used {
			oldest, first = id, false
		}
	}
	delete(w.origins, oldest)
}

// settle says where in the log the batch of a claim is, or that it is not there; then the same id may be claimed again.
func (w *window) settle(id signal.BatchID, c *claim, lsn wal.LSN, err error) {
	c.lsn, c.err = lsn, err
	close(c.settled)
	if err != nil {
		w.giveUp(id, c)
	}
}

// giveUp forgets a claim whose batch is not in the log.
func (w *window) giveUp(id signal.BatchID, c *claim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o := w.origins[id.Origin]; o != nil && o.claims[id.Number] == c {
		delete(o.claims, id.Number)
	}
}

// replayed notes a batch that the replay has found.
func (w *window) replayed(id signal.BatchID) {
	if id.IsZero() {
		return
	}
	if c, mine := w.take(id); mine {
		close(c.settled)
	}
}
