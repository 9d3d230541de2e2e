package ingest

import (
	"context"
	"errors"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// names remembers the streams that the catalog has registered, so that writes to known streams need no catalog.
type names struct {
	catalog Catalog
	mu      struct {
		sync.RWMutex
		streams map[signal.Stream]*knownStream
		byID    map[catalog.StreamID]*knownStream
	}
}

// knownStream is a registered stream with the columns that it has or is about to have.
type knownStream struct {
	catalog.Stream
	mu struct {
		sync.RWMutex
		seen    map[string]struct{}       // names in files, buffers and the log
		columns map[string]catalog.Column // reserved ones, by name
	}
}

func newNames(c Catalog) *names {
	n := &names{catalog: c}
	n.mu.streams = make(map[signal.Stream]*knownStream)
	n.mu.byID = make(map[catalog.StreamID]*knownStream)
	return n
}

// resolve returns the stream of a batch, registering what the catalog does not know. For a metrics batch every metric's name is
// registered and the returned stream is one of them: all have the batch's dataset.
func (n *names) resolve(ctx context.Context, b *signal.Batch) (*knownStream, error) {
	if b.Stream.Signal != signal.Metrics || b.Stream.Name != "" {
		return n.one(ctx, b.Stream)
	}
	missing, first := n.unknownMetrics(b)
	if len(missing) > 0 {
		if err := n.register(ctx, missing); err != nil {
			return nil, err
		}
	}
	return n.one(ctx, first)
}

func (n *names) one(ctx context.Context, s signal.Stream) (*knownStream, error) {
	if k := n.known(s); k != nil {
		return k, nil
	}
	if err := n.register(ctx, []signal.Stream{s}); err != nil {
		return nil, err
	}
	return n.known(s), nil
}

func (n *names) known(s signal.Stream) *knownStream {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.mu.streams[s]
}

// unknownMetrics returns the metric streams of a batch that are not known, and the stream of its first row.
func (n *names) unknownMetrics(b *signal.Batch) (missing []signal.Stream, first signal.Stream) {
	first = b.Stream
	idx := b.Record.Schema().FieldIndices(signal.MetricColumn)
	if len(idx) == 0 {
		return nil, first
	}
	col, ok := b.Record.Column(idx[0]).(*array.String)
	if !ok {
		return nil, first
	}
	done := make(map[string]struct{})
	for i := range col.Len() {
		name := col.Value(i)
		if i == 0 {
			first.Name = name
		}
		if _, ok := done[name]; ok {
			continue
		}
		done[name] = struct{}{}
		s := b.Stream
		s.Name = name
		if n.known(s) == nil {
			missing = append(missing, s)
		}
	}
	return missing, first
}

// register asks the catalog for streams of one org and database.
func (n *names) register(ctx context.Context, streams []signal.Stream) error {
	registered, err := n.catalog.EnsureStreams(ctx, streams)
	if err != nil {
		return err
	}
	return n.adopt(ctx, registered)
}

// registerWithin is register for an org that may have limit streams: catalog.ErrTooManyStreams when it has no room for them.
func (n *names) registerWithin(ctx context.Context, streams []signal.Stream, limit int) error {
	registered, err := n.catalog.EnsureStreamsWithin(ctx, streams, limit)
	if err != nil {
		return err
	}
	return n.adopt(ctx, registered)
}

// adopt takes over streams that the catalog knows.
func (n *names) adopt(ctx context.Context, registered []catalog.Stream) error {
	for _, s := range registered {
		k := &knownStream{Stream: s}
		k.mu.seen = make(map[string]struct{})
		k.mu.columns = make(map[string]catalog.Column)
		if s.Signal != signal.Metrics {
			columns, err := n.catalog.Columns(ctx, s.ID)
			if err != nil {
				return err
			}
			k.learn(columns)
		}
		n.mu.Lock()
		if n.mu.streams[s.Stream] == nil {
			n.mu.streams[s.Stream] = k
			n.mu.byID[s.ID] = k
		}
		n.mu.Unlock()
	}
	return nil
}

// replayed returns the stream of a log record, which was registered by an earlier process. It asks no catalog: the stream may be
// gone, which the commit will tell.
func (n *names) replayed(d decoded, dataset catalog.DatasetID) *knownStream {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := n.mu.byID[d.id]; k != nil {
		return k
	}
	k := &knownStream{Stream: catalog.Stream{Stream: d.stream, ID: d.id, Dataset: dataset}}
	k.mu.seen = make(map[string]struct{})
	k.mu.columns = make(map[string]catalog.Column)
	n.mu.byID[d.id] = k
	return k
}

// forget drops what is known of a dataset's streams (its database was dropped).
func (n *names) forget(dataset catalog.DatasetID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for s, k := range n.mu.streams {
		if k.Dataset == dataset {
			delete(n.mu.streams, s)
		}
	}
	for id, k := range n.mu.byID {
		if k.Dataset == dataset {
			delete(n.mu.byID, id)
		}
	}
}

// ForgetDatabase makes the next write to any stream of the database ask the catalog again. Whoever drops a database calls it on
// this node; other nodes learn of it by the outcome of their next commit.
func (g *Ingest) ForgetDatabase(org tenant.ID, database string) {
	g.names.mu.Lock()
	defer g.names.mu.Unlock()
	for s, k := range g.names.mu.streams {
		if s.Org == org && s.Database == database {
			delete(g.names.mu.streams, s)
			delete(g.names.mu.byID, k.ID)
		}
	}
}

func (k *knownStream) learn(columns []catalog.Column) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range columns {
		k.mu.seen[c.Name] = struct{}{}
		k.mu.columns[c.Name] = c
	}
}

// columns returns the ids and physical names of the given columns, reserving those that have none.
func (n *names) columns(ctx context.Context, k *knownStream, wanted []string) (map[string]catalog.Column, error) {
	var missing []string
	k.mu.RLock()
	for _, name := range wanted {
		if _, ok := k.mu.columns[name]; !ok {
			missing = append(missing, name)
		}
	}
	k.mu.RUnlock()
	if len(missing) > 0 {
		columns, err := n.catalog.ReserveColumns(ctx, k.ID, missing)
		if err != nil {
			return nil, err
		}
		k.learn(columns)
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	out := make(map[string]catalog.Column, len(wanted))
	for _, name := range wanted {
		out[name] = k.mu.columns[name]
	}
	return out, nil
}

// isGone reports whether err says that the stream's database does not exist any more.
func isGone(err error) bool {
	return errors.Is(err, catalog.ErrNoStream) || errors.Is(err, catalog.ErrNoDatabase) || fault.Is(err, fault.NotFound)
}

// fieldNames returns the names of a record's columns after the event time, in order, each once.
func fieldNames(records []arrow.RecordBatch) []string {
	var out []string
	done := make(map[string]struct{})
	for _, r := range records {
		s := r.Schema()
		for _, f := range s.Fields()[signal.FirstField(s):] {
			if _, ok := done[f.Name]; !ok {
				done[f.Name] = struct{}{}
				out = append(out, f.Name)
			}
		}
	}
	return out
}
