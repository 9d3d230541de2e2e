package querier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/sqlplan"
)

// Split finds out whether a statement can be answered in parts of its time. It reads the catalog and no rows of files. It is nil for a
// statement that cannot and for one that is wrong, which Query says better; errors are those of the catalog and of writers.
//
// Bounds on what one statement may read are bounds of the whole: where there are any, the whole is planned as well, with the fresh rows of
// all writers in memory as for Query, and judged by what it would read, each file once. Callers bound how many do that at once. One that is
// above them is not split, and Query refuses it. So what parts read together is never more than what the whole may read, but for files of
// which several parts need something.
func (q *Querier) Split(ctx context.Context, req Request) (*answer.Split, error) {
	r := q.run(req)
	ctx, cancel := r.limit(ctx)
	defer cancel()
	s, err := r.split(ctx)
	if _, mistake := errors.AsType[*sqlplan.Mistake](err); mistake || fault.Is(err, fault.Invalid) || fault.Is(err, fault.NotFound) {
		return nil, nil //nolint:nilnil // documented
	}
	return s, err
}

func (r *run) split(ctx context.Context) (*answer.Split, error) {
	statement, err := r.querier.planner.Parse(ctx, r.request.Statement)
	if err != nil {
		return nil, err
	}
	query, ok := statement.(*sqlplan.Query)
	if !ok {
		return nil, nil //nolint:nilnil // documented
	}
	names, err := r.names(ctx)
	if err != nil {
		return nil, err
	}
	streams, err := query.Resolve(names)
	if err != nil || len(streams) != 1 {
		return nil, err
	}
	x := streams[0]
	// No segment lies in so short a time before all times: the columns are wanted alone.
	known, err := r.querier.deps.Catalog.Snapshot(ctx, catalog.SnapshotQuery{
		Streams: []catalog.StreamID{x.ID}, Datasets: []catalog.DatasetID{x.Dataset}, Start: sqlplan.MinTime, End: sqlplan.MinTime + 1,
	})
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	columns := newStream(x, known.Columns[x.ID], nil).catalogColumns()
	plan, err := query.Bind(ctx, sqlplan.Binding{
		Columns: map[catalog.StreamID][]catalog.Column{x.ID: columns}, Now: r.now, Limit: r.request.Limit,
	})
	if err != nil {
		return nil, err
	}
	s, err := query.Split(ctx, plan, r.request.Limit)
	if s == nil || err != nil {
		return nil, err
	}
	if err := r.judgeWhole(ctx, query, streams); err != nil {
		return nil, err
	}
	matter := plan.Tables[0].Time.Intersect(sqlplan.Between(r.request.Start, r.request.End))
	s.Now, s.Start, s.End = r.now, timeOf(matter.Start), timeOf(matter.End)
	return s, nil
}

// judgeWhole fails with fault.Invalid when the statement as a whole would read more than it may.
func (r *run) judgeWhole(ctx context.Context, query *sqlplan.Query, streams []catalog.Stream) error {
	if r.querier.opts.MaxScanRows <= 0 && r.limits.MaxQueryBytesRead <= 0 {
		return nil
	}
	state, err := r.snapshot(ctx, streams)
	if err != nil {
		return err
	}
	defer state.buffers.Release()
	tables, err := r.bind(ctx, query, streams, state)
	if err != nil {
		return err
	}
	return r.check(tables, state)
}

// timeOf returns the time of microseconds, zero for an open end.
func timeOf(micros int64) time.Time {
	if micros == sqlplan.MinTime || micros == sqlplan.MaxTime {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
