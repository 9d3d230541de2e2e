package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/wal"
)

// Draw draws the epoch of this process, which Start does otherwise. A process that must be known before it replays calls it first. On
// an error the catalog may list an epoch that nobody uses; the next start on this volume ends it.
func (g *Ingest) Draw(ctx context.Context) (catalog.Writer, error) {
	files, dir := g.deps.FS, g.opts.WAL.Dir
	v, err := readVolume(files, dir)
	if err != nil {
		return catalog.Writer{}, err
	}
	g.volume = v
	if err := v.beginDraw().write(files, dir); err != nil {
		return catalog.Writer{}, err
	}
	writer, err := g.deps.Catalog.StartWriter(ctx, g.opts.Node, g.opts.Address)
	if err != nil {
		return catalog.Writer{}, fmt.Errorf("draw a writer epoch: %w", err)
	}
	if err := v.endDraw(writer.Epoch).write(files, dir); err != nil {
		return catalog.Writer{}, err
	}
	g.mu.Lock()
	g.writer, g.drawn = writer, g.deps.Clock.Now()
	g.mu.Unlock()
	return writer, nil
}

// Start draws an epoch unless Draw has, opens the log and replays what earlier processes left in it: rows that the catalog has not are
// buffered again under the epoch and sequence they were written with. Memory stays within Options.BufferMemoryMax, because the replay
// flushes as it goes. When it returns, writes and fresh reads are taken.
func (g *Ingest) Start(ctx context.Context) error {
	if g.writer.Epoch == 0 {
		if _, err := g.Draw(ctx); err != nil {
			return err
		}
	}
	opts := g.opts.WAL
	opts.Node, opts.Epoch = g.writer.Node, g.writer.Epoch
	var err error
	g.log, err = wal.Open(opts, wal.Deps{
		FS: g.deps.FS, Clock: g.deps.Clock, Logger: g.deps.Logger, Registerer: g.deps.Registerer, OnGroup: g.onGroup,
	})
	if err != nil {
		return fmt.Errorf("open the write-ahead log: %w", err)
	}
	g.setPhase(phaseReplaying)
	if err := g.replay(ctx); err != nil {
		return fmt.Errorf("replay the write-ahead log: %w", err)
	}
	if err := g.adoptAbandoned(ctx); err != nil {
		return err
	}
	if err := g.beKnown(ctx, g.drawn); err != nil {
		return err
	}
	g.setPhase(phaseReady)
	g.deps.Logger.Info("ingest ready", "node", g.writer.Node, "epoch", g.writer.Epoch)
	return nil
}

// beKnown waits until every reader's list of holders has this epoch: a list may be cached for Options.ListedFor (decisions C2).
func (g *Ingest) beKnown(ctx context.Context, drawn time.Time) error {
	rest := g.opts.ListedFor - g.deps.Clock.Now().Sub(drawn)
	if g.opts.Address == "" || rest <= 0 {
		return nil
	}
	select {
	case <-g.deps.Clock.After(rest):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *Ingest) replay(ctx context.Context) error {
	r := replayer{Ingest: g, committed: make(map[catalog.WriterKey]map[catalog.DatasetID]uint64)}
	report, err := g.log.Replay(ctx, func(rec wal.Record) error { return r.record(ctx, rec) }, func(done, total int64) {
		g.progress.Store(&Progress{DoneBytes: done, TotalBytes: total})
	})
	if err != nil {
		return err
	}
	g.deps.Logger.Info("write-ahead log replayed", "report", fmt.Sprintf("%+v", report), "buffered_records", r.buffered)
	return nil
}

// replayer puts log records back into buffers.
type replayer struct {
	*Ingest
	committed map[catalog.WriterKey]map[catalog.DatasetID]uint64
	buffered  int
}

func (r *replayer) record(ctx context.Context, rec wal.Record) error {
	writer := catalog.WriterKey{Node: rec.Node, Epoch: rec.Epoch}
	committed, err := r.adopt(ctx, writer)
	if err != nil {
		return err
	}
	if id, _, err := batchID(rec.Payload); err == nil {
		r.window.replayed(id)
	}
	done := committed[catalog.DatasetID(rec.Dataset)]
	if rec.Seq <= done {
		r.log.Release(rec.Key, rec.Seq)
		return nil
	}
	d, err := r.codec.decode(rec.Payload)
	if err != nil {
		return r.log.Quarantine(rec, err)
	}
	b := r.buffer(rec.Key, r.names.replayed(d, catalog.DatasetID(rec.Dataset)).Stream)
	e := newEntry(d.record)
	e.seq = rec.Seq
	r.memory.force(b.dataset.Org, e.bytes)
	b.mu.Lock()
	b.mu.last = max(b.mu.last, rec.Seq)
	b.mu.committed = max(b.mu.committed, done)
	b.append(e, r.deps.Clock.Now())
	b.mu.Unlock()
	r.buffered++
	if r.memory.pressed() {
		r.flushAll(ctx)
		if r.memory.full() {
			return errors.New("the buffers are full and cannot be flushed")
		}
	}
	return nil
}

// adopt lists the epoch as a holder before any of its rows is buffered, and reads what of it is committed.
func (r *replayer) adopt(ctx context.Context, w catalog.WriterKey) (map[catalog.DatasetID]uint64, error) {
	if c, ok := r.committed[w]; ok {
		return c, nil
	}
	if err := r.deps.Catalog.AdoptWriter(ctx, w.Node, w.Epoch, r.opts.Address); err != nil {
		return nil, err
	}
	c, err := r.deps.Catalog.Committed(ctx, w.Node, w.Epoch)
	if err != nil {
		return nil, err
	}
	r.committed[w] = c
	r.mu.Lock()
	r.mu.older[w] = struct{}{}
	r.mu.Unlock()
	return c, nil
}

// adoptAbandoned takes over the epochs of this node id that the catalog still lists although the log has nothing of them, if they
// were drawn on this volume: their rows are committed, and they end with the next round. Those of another volume keep their place in
// the list, so that answers go on naming them: their rows come back with that volume or are given up by hand.
func (g *Ingest) adoptAbandoned(ctx context.Context) error {
	writers, err := g.deps.Catalog.Writers(ctx)
	if err != nil {
		return err
	}
	kept := volume{epochs: []int64{g.writer.Epoch}}
	g.mu.Lock()
	for _, w := range writers {
		if w.Node != g.writer.Node || w.Epoch >= g.writer.Epoch {
			continue
		}
		key := catalog.WriterKey{Node: w.Node, Epoch: w.Epoch}
		if _, replayed := g.mu.older[key]; !replayed && !g.volume.has(w.Epoch) {
			g.deps.Logger.Error("a writer epoch of this node is not on this volume: rows that it had not flushed are missing",
				"node", w.Node, "epoch", w.Epoch, "started", w.Started)
			continue
		}
		g.mu.older[key] = struct{}{}
		kept.epochs = append(kept.epochs, w.Epoch)
	}
	g.mu.Unlock()
	slices.Sort(kept.epochs)
	return kept.write(g.deps.FS, g.opts.WAL.Dir)
}

// endOlder takes earlier epochs off the list of holders once nothing of them is buffered or set aside by the fence.
func (g *Ingest) endOlder(ctx context.Context) {
	for _, w := range g.emptyOlder() {
		if err := g.deps.Catalog.EndWriter(ctx, w.Node, w.Epoch); err != nil {
			g.deps.Logger.Warn("earlier writer epoch not ended yet", "node", w.Node, "epoch", w.Epoch, "error", err)
			continue
		}
		g.mu.Lock()
		delete(g.mu.older, w)
		for key := range g.mu.buffers {
			if key.Node == w.Node && key.Epoch == w.Epoch {
				delete(g.mu.buffers, key)
			}
		}
		g.mu.Unlock()
	}
}

// emptyOlder returns the earlier epochs of which no buffer holds rows.
func (g *Ingest) emptyOlder() []catalog.WriterKey {
	g.mu.RLock()
	older := maps.Clone(g.mu.older)
	g.mu.RUnlock()
	for _, b := range g.all() {
		if s := b.state(); !s.empty || s.fenced {
			delete(older, catalog.WriterKey{Node: b.key.Node, Epoch: b.key.Epoch})
		}
	}
	return slices.Collect(maps.Keys(older))
}
