package ingest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/columnar"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/searchindex"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wal"
)

// shipment is a prefix of a buffer that lies in the object store and waits for its commit.
type shipment struct {
	buffer *buffer
	commit catalog.DatasetCommit
}

// ship writes and uploads a durable prefix of the buffer. It returns nil when there is none. The caller holds b.flushing.
func (g *Ingest) ship(ctx context.Context, b *buffer) (*shipment, error) {
	prefix, from := b.take(g.log.Durable(), maxFlushBytes)
	if len(prefix) == 0 {
		return nil, nil //nolint:nilnil // nothing to ship is no error
	}
	records := make([]arrow.RecordBatch, len(prefix))
	for i, e := range prefix {
		records[i] = e.record
	}
	s := &shipment{buffer: b, commit: catalog.DatasetCommit{
		Dataset: catalog.DatasetID(b.key.Dataset), From: from, To: prefix[len(prefix)-1].seq,
	}}
	err := g.fill(ctx, s, records)
	switch {
	case err == nil:
		return s, nil
	case isGone(err):
		// The stream's database was dropped: the commit, without segments, says so and lets the log go.
		s.commit.Segments, s.commit.Columns = nil, nil
		return s, nil
	case fault.Is(err, fault.Corrupt):
		return nil, g.isolate(ctx, b, prefix, err)
	default:
		return nil, fmt.Errorf("flush %s: %w", b.key, err)
	}
}

// fill writes one file a partition and uploads it.
func (g *Ingest) fill(ctx context.Context, s *shipment, records []arrow.RecordBatch) error {
	columns, err := g.layout(ctx, s.buffer, records)
	if err != nil {
		return err
	}
	parts := columnar.Split(records)
	first, err := g.deps.Catalog.NextSegments(ctx, len(parts))
	if err != nil {
		return err
	}
	types := make(map[catalog.ColumnID]signal.TypeSet)
	for i, part := range parts {
		seg, info, err := g.store(ctx, s.buffer, part, first+catalog.SegmentID(i), columns)
		if err != nil {
			return err
		}
		for c, t := range info.Types {
			types[c] |= t
		}
		s.commit.Segments = append(s.commit.Segments, seg)
	}
	if s.buffer.dataset.Signal == signal.Metrics {
		s.commit.Columns, err = g.names.metricLabels(ctx, s.buffer.dataset, records)
		return err
	}
	s.commit.Columns = []catalog.PublishedColumns{{Stream: s.buffer.dataset.ID, Columns: types}}
	return nil
}

// layout returns ids and physical names of the records' columns.
func (g *Ingest) layout(ctx context.Context, b *buffer, records []arrow.RecordBatch) (columnar.Columns, error) {
	if b.dataset.Signal == signal.Metrics {
		return columnar.MetricColumn, nil
	}
	g.names.mu.RLock()
	k := g.names.mu.byID[b.dataset.ID]
	g.names.mu.RUnlock()
	if k == nil {
		return nil, catalog.ErrNoStream
	}
	columns, err := g.names.columns(ctx, k, fieldNames(records))
	if err != nil {
		return nil, err
	}
	return func(name string) (catalog.Column, bool) {
		c, ok := columns[name]
		return c, ok
	}, nil
}

// store writes one part to a staging file and puts it into the object store.
func (g *Ingest) store(ctx context.Context, b *buffer, part columnar.Part, id catalog.SegmentID, columns columnar.Columns) (
	catalog.Segment, columnar.Info, error,
) {
	path := filepath.Join(g.opts.StagingDir, fmt.Sprintf("%016x.parquet", int64(id)))
	defer os.Remove(path) //nolint:errcheck // a leftover is removed at the next start
	order := columnar.ByTime
	if b.dataset.Signal == signal.Metrics {
		order = columnar.BySeries
	}
	opts := columnar.WriteOptions{Segment: id, RowGroupRows: g.opts.RowGroupRows, Sort: order, Index: b.dataset.Signal != signal.Metrics}
	info, err := columnar.WriteFile(ctx, path, part, columns, opts)
	if err != nil {
		return catalog.Segment{}, info, err
	}
	key := columnar.ObjectKey(b.dataset.Org, b.dataset.Signal, b.dataset.Dataset, part.Partition, id)
	if err := g.deps.Objects.PutFile(ctx, key, path); err != nil {
		return catalog.Segment{}, info, fmt.Errorf("upload segment %d: %w", id, err)
	}
	seg := catalog.Segment{
		ID: id, Dataset: catalog.DatasetID(b.key.Dataset), Org: b.dataset.Org, Key: key, Bytes: info.Bytes, Rows: info.Rows,
		MinTime: info.MinTime, MaxTime: info.MaxTime, Partition: part.Partition, Format: info.Format, Checksum: info.Checksum,
		RowGroups: info.RowGroups, Columns: info.Columns,
	}
	err = g.storeIndex(ctx, &seg, info.Index)
	return seg, info, err
}

// storeIndex puts the search index of a segment beside it.
func (g *Ingest) storeIndex(ctx context.Context, seg *catalog.Segment, b *searchindex.Builder) error {
	if b == nil {
		return nil
	}
	object := b.Finish(searchindex.Identity{Key: seg.Key, Checksum: seg.Checksum})
	seg.IndexKey, seg.Index = strings.TrimSuffix(seg.Key, columnar.DataSuffix)+columnar.IndexSuffix, int64(len(object))
	if err := g.deps.Objects.Put(ctx, seg.IndexKey, bytes.NewReader(object), seg.Index); err != nil {
		return fmt.Errorf("upload index of segment %d: %w", seg.ID, err)
	}
	return nil
}

// isolate finds the entries of a prefix that cannot be written as a file, each alone, quarantines them and drops them, so that
// one record does not hold up its dataset. It returns the error when no single entry is at fault.
func (g *Ingest) isolate(ctx context.Context, b *buffer, prefix []entry, cause error) error {
	found := false
	for _, e := range prefix {
		err := g.probe(ctx, b, e.record)
		if err == nil {
			continue
		}
		if !fault.Is(err, fault.Corrupt) {
			return err
		}
		payload, encodeErr := g.codec.encode(b.dataset, signal.BatchID{}, e.record, nil)
		if encodeErr != nil {
			return encodeErr
		}
		if err := g.log.Quarantine(wal.Record{Key: b.key, Seq: e.seq, Payload: payload}, err); err != nil {
			return err
		}
		g.memory.release(b.dataset.Org, b.remove(e.seq))
		found = true
	}
	if !found {
		return cause
	}
	return nil
}

// probe writes one record to a staging file that is thrown away.
func (g *Ingest) probe(ctx context.Context, b *buffer, r arrow.RecordBatch) error {
	columns, err := g.layout(ctx, b, []arrow.RecordBatch{r})
	if err != nil {
		return err
	}
	for _, part := range columnar.Split([]arrow.RecordBatch{r}) {
		path := filepath.Join(g.opts.StagingDir, "probe.parquet")
		_, err := columnar.WriteFile(ctx, path, part, columns, columnar.WriteOptions{Segment: 1, RowGroupRows: g.opts.RowGroupRows})
		os.Remove(path) //nolint:errcheck // thrown away
		if err != nil {
			return err
		}
	}
	return nil
}
