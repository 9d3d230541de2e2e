package promstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fresh"
)

// picture is the metrics of one database as of one moment, in a range of time.
type picture struct {
	names    *database
	buffers  fresh.Result // owns the records
	fresh    []arrow.RecordBatch
	segments []catalog.Segment // the oldest first
	horizon  *horizon
	unpin    []func()
}

// takePicture reads the buffers of all writers, then the catalog.
func (q *querier) takePicture(ctx context.Context) (*picture, error) {
	names, err := q.store.names.get(ctx, q.org, q.database)
	if err != nil {
		return nil, err
	}
	p := &picture{names: names, horizon: q.store.horizon(q, names)}
	if !names.known {
		return p, nil
	}
	datasets := []catalog.DatasetID{names.dataset}
	start, end := microsOf(q.mint), microsOf(saturatingNext(q.maxt))
	p.buffers, err = q.store.deps.Buffers.Snapshot(ctx, fresh.Request{Org: q.org, Datasets: datasets, Start: start, End: end})
	if err != nil {
		return nil, fmt.Errorf("read fresh rows: %w", err)
	}
	for _, w := range p.buffers.Warnings {
		q.warnings.Add(errors.New(w))
	}
	snapshot, err := q.store.deps.Catalog.Snapshot(ctx, catalog.SnapshotQuery{Datasets: datasets, Start: start, End: end})
	if err != nil {
		p.buffers.Release()
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	p.fresh = p.buffers.Uncommitted(snapshot.Committed)[names.dataset]
	p.segments = slices.DeleteFunc(snapshot.Segments, func(s catalog.Segment) bool {
		if s.Org != q.org { // the check of the last mile
			q.store.deps.Logger.Error("a picture held a segment of another org; it was left out",
				"org", string(q.org), "segment", int64(s.ID), "segment_org", string(s.Org))
		}
		return s.Org != q.org
	})
	slices.SortFunc(p.segments, func(a, b catalog.Segment) int { return cmp.Compare(a.ID, b.ID) })
	return p, nil
}

// pin makes files of the segments readable until the picture is released.
func (p *picture) pin(ctx context.Context, files Files, segments []catalog.Segment) ([]string, error) {
	if len(segments) == 0 {
		return nil, nil
	}
	paths, release, err := files.Pin(ctx, segments)
	if err != nil {
		return nil, fmt.Errorf("fetch data files: %w", err)
	}
	p.unpin = append(p.unpin, release)
	return paths, nil
}

func (p *picture) release() {
	for _, f := range p.unpin {
		f()
	}
	p.unpin = nil
	p.buffers.Release()
	p.fresh = nil
}

const microsPerMilli = 1000

// microsOf converts milliseconds, which Prometheus lets grow to the ends of int64.
func microsOf(millis int64) int64 {
	const limit = math.MaxInt64 / microsPerMilli
	return min(max(millis, -limit), limit) * microsPerMilli
}

func saturatingNext(millis int64) int64 {
	if millis == math.MaxInt64 {
		return millis
	}
	return millis + 1
}

// millisOf converts microseconds, rounding down.
func millisOf(micros int64) int64 {
	millis := micros / microsPerMilli
	if micros%microsPerMilli < 0 {
		millis--
	}
	return millis
}
