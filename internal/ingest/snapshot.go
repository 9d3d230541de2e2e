package ingest

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fresh"
	"github.com/millstream/millstream/internal/signal"
)

// Snapshot answers a fresh read from the buffers of all epochs that this process holds. It refuses with ErrReplaying until the
// replay is over, since until then rows may be in the log alone.
func (g *Ingest) Snapshot(_ context.Context, q fresh.Request) (fresh.Result, error) {
	buffers, ok := g.holding(q)
	if !ok {
		return fresh.Result{}, ErrReplaying
	}
	var out fresh.Result
	for _, b := range buffers {
		key := b.key
		s := fresh.Snapshot{Writer: catalog.WriterKey{Node: key.Node, Epoch: key.Epoch}, Dataset: catalog.DatasetID(key.Dataset)}
		for _, e := range b.visible(g.log.Durable, q.Start, q.End) {
			s.Chunks = append(s.Chunks, fresh.Chunk{Seq: e.seq, Record: project(e.record, q.Columns)})
			e.record.Release()
		}
		if len(s.Chunks) > 0 {
			out.Snapshots = append(out.Snapshots, s)
		}
	}
	return out, nil
}

// Hold answers a fresh read for other nodes: the rows, and the writer epochs that the answer is complete for. Those are this process's
// own, which has no row before the replay is over, and then also those whose log it has found. An epoch that ends meanwhile has all
// its rows in the catalog.
func (g *Ingest) Hold(ctx context.Context, q fresh.Request) (fresh.Result, []catalog.WriterKey, error) {
	g.mu.RLock()
	own, ready := g.writer, g.mu.state >= phaseReady
	epochs := []catalog.WriterKey{{Node: own.Node, Epoch: own.Epoch}}
	if ready {
		for w := range g.mu.older {
			epochs = append(epochs, w)
		}
	}
	g.mu.RUnlock()
	if !ready {
		return fresh.Result{}, epochs, nil
	}
	result, err := g.Snapshot(ctx, q)
	return result, epochs, err
}

// holding returns the buffers of the asked datasets. It is not ok while the log is being replayed.
func (g *Ingest) holding(q fresh.Request) (buffers []*buffer, ok bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for key, b := range g.mu.buffers {
		if b.dataset.Org == q.Org && slices.Contains(q.Datasets, catalog.DatasetID(key.Dataset)) {
			buffers = append(buffers, b)
		}
	}
	return buffers, g.mu.state >= phaseReady
}

// project returns the record with the event time and the wanted columns only (all when columns is nil). Names are compared
// without case, since SQL's are: a holder may send more than was asked. The caller releases the result.
func project(r arrow.RecordBatch, columns []string) arrow.RecordBatch {
	if columns == nil {
		r.Retain()
		return r
	}
	s := r.Schema()
	first := signal.FirstField(s)
	fields := make([]arrow.Field, 0, len(columns)+first)
	arrays := make([]arrow.Array, 0, len(columns)+first)
	for i, f := range s.Fields() {
		if i < first || slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, f.Name) }) {
			fields, arrays = append(fields, f), append(arrays, r.Column(i))
		}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, r.NumRows())
}
