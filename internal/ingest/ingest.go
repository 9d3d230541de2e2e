package ingest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wal"
)

// Ingest is the component. New makes it, Start replays, Run flushes until its context ends, Close writes what is left.
type Ingest struct {
	opts    Options
	deps    Deps
	codec   codec
	metrics *metrics
	names   *names
	samples *samples

	writer catalog.Writer
	drawn  time.Time // when writer was drawn
	volume volume    // as Draw found it
	log    *wal.Log

	memory   budget
	streams  streamLimits
	window   window
	kick     chan struct{} // a buffer wants a flush
	progress atomic.Pointer[Progress]

	mu struct {
		sync.RWMutex
		buffers map[wal.Key]*buffer
		older   map[catalog.WriterKey]struct{} // earlier epochs that may still have rows in the log
		state   phase
	}
}

type phase uint8

const (
	phaseNew phase = iota
	phaseReplaying
	phaseReady
	phaseDraining
)

// Progress tells how far a replay is.
type Progress struct {
	DoneBytes, TotalBytes int64
}

// Errors of Write and Snapshot that callers branch on.
var (
	ErrReplaying error = fault.New(fault.Unavailable, "the write-ahead log is being replayed")
	ErrDraining  error = fault.New(fault.Unavailable, "this node is draining")
	ErrMemory    error = fault.New(fault.Unavailable, "the intake buffers are full (intake.buffer_memory_max)")
	ErrFenced    error = fault.New(fault.Unavailable, "another process writes this dataset under the same node.id: restart with a unique id")
)

// New returns a component that has done nothing yet.
func New(opts Options, deps Deps) *Ingest {
	g := &Ingest{opts: opts.withDefaults(), deps: deps.withDefaults(), kick: make(chan struct{}, 1)}
	g.metrics = newMetrics(g.deps.Registerer, g)
	g.names = newNames(g.deps.Catalog)
	g.samples = newSamples(maxTracked)
	g.streams.full, g.streams.turns = make(map[tenant.ID]fullOrg), make(map[tenant.ID]*orgTurn)
	g.memory = newBudget(g.opts.BufferMemoryMax, g.deps.Clock)
	g.mu.buffers = make(map[wal.Key]*buffer)
	g.mu.older = make(map[catalog.WriterKey]struct{})
	g.progress.Store(&Progress{})
	return g
}

// Ready reports whether writes are taken; the error says why not. It is nil once Start has returned and until Close.
func (g *Ingest) Ready() error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	switch g.mu.state {
	case phaseReady:
		return nil
	case phaseDraining:
		return ErrDraining
	default:
		return ErrReplaying
	}
}

// Started reports whether Start was called: from then on the epoch may have rows in the log.
func (g *Ingest) Started() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.mu.state != phaseNew
}

// Progress returns how far the replay is; both numbers are 0 before it starts.
func (g *Ingest) Progress() Progress { return *g.progress.Load() }

// Writer returns the epoch drawn by Draw or Start.
func (g *Ingest) Writer() catalog.Writer { return g.writer }

// Log returns the write-ahead log's figures.
func (g *Ingest) Log() wal.Stats { return g.log.Stats() }

func (g *Ingest) setPhase(p phase) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.state = p
}

// buffer returns the buffer of a key, making it.
func (g *Ingest) buffer(key wal.Key, s catalog.Stream) *buffer {
	g.mu.RLock()
	b := g.mu.buffers[key]
	g.mu.RUnlock()
	if b != nil {
		return b
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if b = g.mu.buffers[key]; b == nil {
		b = &buffer{key: key, dataset: s}
		g.mu.buffers[key] = b
	}
	return b
}

// all returns the buffers in no order.
func (g *Ingest) all() []*buffer {
	g.mu.RLock()
	defer g.mu.RUnlock()
	out := make([]*buffer, 0, len(g.mu.buffers))
	for _, b := range g.mu.buffers {
		out = append(out, b)
	}
	return out
}

// Write makes the rows of the batches durable and visible. It returns nil when all are; on an error none, some or all of them may
// be stored, as after a lost answer, unless IsRefused. A batch with an ID that is in the log already is stored once. The caller
// keeps its references to the records.
//
// Errors: fault.NotFound for an unknown database, fault.Unavailable (replaying, draining, fenced, memory or disk full, catalog
// away for an unknown stream).
func (g *Ingest) Write(ctx context.Context, batches ...*signal.Batch) error {
	if err := g.Ready(); err != nil {
		return &refusal{err}
	}
	waits := make([]func() error, 0, len(batches))
	var errs []error
	var refused signal.RefusedSamples
	for _, b := range batches {
		wait, err := g.appendAllowed(ctx, b, &refused)
		if err != nil && len(waits) == 0 {
			return &refusal{err}
		}
		if err != nil {
			errs = append(errs, err)
			break
		}
		waits = append(waits, wait)
	}
	for _, wait := range waits {
		errs = append(errs, wait())
	}
	if err := errors.Join(errs...); err != nil || refused.Rows() == 0 {
		return err
	}
	return &refused
}

// appendAllowed is appendOrdered without the rows of streams that the org may not have.
func (g *Ingest) appendAllowed(ctx context.Context, b *signal.Batch, refused *signal.RefusedSamples) (wait func() error, err error) {
	allowed, err := g.limitStreams(ctx, b, refused)
	if err != nil {
		return nil, err
	}
	if allowed != b {
		defer allowed.Record.Release()
	}
	return g.appendOrdered(ctx, allowed, refused)
}

// appendOrdered is append without the samples that an ordered batch may not have. Those that are durable in the end are remembered.
func (g *Ingest) appendOrdered(ctx context.Context, b *signal.Batch, refused *signal.RefusedSamples) (wait func() error, err error) {
	if !b.Ordered {
		return g.append(ctx, b)
	}
	j := g.samples.judge(b)
	kept, err := j.rows(ctx, b.Record)
	if err != nil {
		return nil, err
	}
	refused.Join(&j.refused)
	if kept == nil {
		return func() error { return nil }, nil
	}
	defer kept.Release()
	if kept != b.Record {
		rest := *b
		rest.Record, rest.Block = kept, nil
		b = &rest
	}
	durable, err := g.append(ctx, b)
	if err != nil {
		return nil, err
	}
	return func() error {
		err := durable()
		if err == nil {
			g.samples.note(j)
		}
		return err
	}, nil
}

// refusal is an error of a write of which nothing has reached the log.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// IsRefused reports whether err, of Write, says that nothing of the batches is or will be stored.
func IsRefused(err error) bool {
	_, ok := errors.AsType[*refusal](err)
	return ok
}

// append puts one batch into the log, unless it is there already, and returns what waits for it to be durable.
func (g *Ingest) append(ctx context.Context, b *signal.Batch) (wait func() error, err error) {
	if b.ID.IsZero() {
		lsn, err := g.enqueue(ctx, b)
		return func() error { return g.log.Wait(ctx, lsn) }, err
	}
	c, mine := g.window.take(b.ID)
	if mine {
		lsn, err := g.enqueue(ctx, b)
		g.window.settle(b.ID, c, lsn, err)
	}
	select {
	case <-c.settled:
	case <-ctx.Done():
		// The other writer of the same batch is still at it: whether it will be in the log is not known.
		return func() error { return ctx.Err() }, nil
	}
	if c.err != nil {
		return nil, c.err
	}
	return func() error {
		if c.lsn == 0 {
			return nil
		}
		err := g.log.Wait(ctx, c.lsn)
		if err != nil && ctx.Err() == nil {
			g.window.giveUp(b.ID, c)
		}
		return err
	}, nil
}

// enqueue gives one batch its sequence, puts it into the log's next group and into its buffer.
func (g *Ingest) enqueue(ctx context.Context, batch *signal.Batch) (wal.LSN, error) {
	stream, err := g.names.resolve(ctx, batch)
	if err != nil {
		return 0, err
	}
	record := stream.fold(batch.Record, g.opts.MaxColumns(batch.Stream.Org))
	defer record.Release()
	var block []byte
	if record == batch.Record {
		block = batch.Block
	}
	payload, err := g.codec.encode(stream.Stream, batch.ID, record, block)
	if err != nil {
		return 0, err
	}
	e := newEntry(record)
	if err := g.memory.acquire(ctx, stream.Org, e.bytes, g.kickFlush); err != nil {
		return 0, err
	}
	key := wal.Key{Dataset: int64(stream.Dataset), Node: g.writer.Node, Epoch: g.writer.Epoch}
	room, err := g.log.Reserve(ctx, key, len(payload))
	if err != nil {
		g.memory.release(stream.Org, e.bytes)
		return 0, err
	}
	defer room.Release()
	lsn, size, err := g.insert(g.buffer(key, stream.Stream), e, room, payload)
	if err != nil {
		g.memory.release(stream.Org, e.bytes)
		return 0, err
	}
	if size >= g.opts.BufferMaxSize {
		g.kickFlush()
	}
	g.metrics.rows.WithLabelValues(batch.Stream.Signal.String()).Add(float64(record.NumRows()))
	return lsn, nil
}

// insert is the one place where order is made: sequence, log and buffer agree because all three happen under the buffer's lock.
func (g *Ingest) insert(b *buffer, e entry, room *wal.Reservation, payload []byte) (wal.LSN, int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.fenced {
		return 0, 0, ErrFenced
	}
	e.seq = b.mu.last + 1
	lsn, err := room.Enqueue(wal.Record{Key: b.key, Seq: e.seq, Payload: payload})
	if err != nil {
		return 0, 0, err
	}
	e.lsn = lsn
	e.record.Retain()
	b.mu.last = e.seq
	b.append(e, g.deps.Clock.Now())
	return lsn, b.mu.bytes, nil
}

func (g *Ingest) kickFlush() {
	select {
	case g.kick <- struct{}{}:
	default:
	}
}

// onGroup drops the entries of a failed group before the log lets anybody see them.
func (g *Ingest) onGroup(first, last wal.LSN, err error) {
	if err == nil {
		return
	}
	g.deps.Logger.Warn("write-ahead log group refused", "first_lsn", uint64(first), "last_lsn", uint64(last), "error", err)
	for _, b := range g.all() {
		g.memory.release(b.dataset.Org, b.fail(first, last))
	}
}
