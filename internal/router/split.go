package router

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/slot"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// part is the rows of a batch that go to the owners of one slot.
type part struct {
	slot  uint16
	batch *signal.Batch
}

// split divides a batch by owner. Batches of logs and traces are one stream and so one part, which is the batch itself. Rows of a
// metrics batch have the slot of their metric; those of one owner stay together. When there is more than one part, the caller
// releases the batch of each.
func split(ctx context.Context, view *cluster.View, b *signal.Batch) ([]part, error) {
	s := b.Stream
	if s.Signal != signal.Metrics || s.Name != "" {
		return []part{{slot.Of(string(s.Org), s.Database, s.Signal.String(), s.Name), b}}, nil
	}
	metrics, ok := metricNames(b.Record)
	if !ok {
		return nil, fault.New(fault.Internal, "a metrics batch of %s has no metric names", s)
	}
	owner := make(map[string]string) // metric → owner
	slots := make(map[string]uint16) // owner → slot of one of its metrics
	rows := make([]string, metrics.Len())
	for i := range rows {
		name := metrics.Value(i)
		if _, ok := owner[name]; !ok {
			at := slot.Of(string(s.Org), s.Database, s.Signal.String(), name)
			owner[name] = view.Owners(at, 1)[0].ID
			if _, ok := slots[owner[name]]; !ok {
				slots[owner[name]] = at
			}
		}
		rows[i] = owner[name]
	}
	if len(slots) == 1 {
		return []part{{slots[rows[0]], b}}, nil
	}
	var parts []part
	for id, at := range slots {
		record, err := filter(ctx, b.Record, rows, id)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{at, &signal.Batch{Stream: s, Record: record, Ordered: b.Ordered, Backfill: b.Backfill}})
	}
	return parts, nil
}

func metricNames(r arrow.RecordBatch) (*array.String, bool) {
	idx := r.Schema().FieldIndices(signal.MetricColumn)
	if len(idx) == 0 {
		return nil, false
	}
	names, ok := r.Column(idx[0]).(*array.String)
	return names, ok
}

// filter returns the rows whose owner is id.
func filter(ctx context.Context, r arrow.RecordBatch, owners []string, id string) (arrow.RecordBatch, error) {
	b := array.NewBooleanBuilder(memory.DefaultAllocator)
	defer b.Release()
	for _, o := range owners {
		b.Append(o == id)
	}
	mask := b.NewArray()
	defer mask.Release()
	out, err := compute.FilterRecordBatch(ctx, r, mask, compute.DefaultFilterOptions())
	if err != nil {
		return nil, fmt.Errorf("divide a batch: %w", err)
	}
	return out, nil
}
