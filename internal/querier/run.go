package querier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/fresh"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/sqlplan"
	"github.com/millstream/millstream/internal/sqlplan/sqlplanduck"
	"github.com/millstream/millstream/internal/tenant"
)

// run is one statement under way.
type run struct {
	querier  *Querier
	request  Request
	limits   limits.Limits // of the request's org
	now      time.Time     // of the clock that retention is decided by
	began    time.Time     // monotonic
	stats    Stats
	warnings []string

	members  map[catalog.StreamID][]catalog.Stream // of several orgs, by the stream that stands for them
	plan     *sqlplan.Plan
	instance *duck.Instance
	unpin    func()
}

// limit derives a context that ends when the statement's time has passed.
func (r *run) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout, name := r.querier.opts.Timeout, "querier.timeout_secs"
	if own := r.limits.QueryTimeout; own > 0 && (timeout == 0 || own < timeout) {
		timeout, name = own, "limits."+limits.QueryTimeout
	}
	if timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, r.began.Add(timeout), &timeoutError{
		fault.New(fault.Deadline, "the time limit of a statement, %s, has passed (%s)", timeout, name),
	})
}

// timeoutError tells the statement's own time limit from the caller's.
type timeoutError struct{ limit *fault.Error }

func (e *timeoutError) Error() string { return e.limit.Error() }
func (e *timeoutError) Unwrap() error { return e.limit }

// explain puts an error into the words of the user's statement. ctx is the one of limit: whatever failed because it ended failed
// because of the time limit.
func (r *run) explain(ctx context.Context, err error) error {
	var passed *timeoutError
	if errors.As(context.Cause(ctx), &passed) && fault.Is(err, fault.Deadline) {
		return passed.limit
	}
	if r.plan == nil {
		return err
	}
	err = r.plan.UserError(sqlplanduck.Mistake(err))
	var mistake *sqlplan.Mistake
	if len(r.warnings) > 0 && errors.As(err, &mistake) {
		// The column may be in rows that could not be read: nothing says that the statement is wrong.
		return fault.Wrap(fault.Unavailable, err, "%s; but %s", fault.Message(err), strings.Join(r.warnings, "; "))
	}
	return err
}

func (r *run) elapsed() time.Duration { return time.Since(r.began) }

// release gives back what the statement holds. It is idempotent.
func (r *run) release() {
	if r.instance != nil {
		r.instance.Release()
		r.instance = nil
	}
	if r.unpin != nil {
		r.unpin()
		r.unpin = nil
	}
}

// query answers a SELECT. A place in the engine comes first, so that nothing is held while it waits.
func (r *run) query(ctx context.Context, q *sqlplan.Query) (rows, error) {
	names, err := r.names(ctx)
	if err != nil {
		return nil, err
	}
	streams, err := q.Resolve(names)
	if err != nil {
		return nil, err
	}
	if r.instance, err = r.querier.deps.Pool.Acquire(ctx, r.orgs()...); err != nil {
		return nil, fmt.Errorf("wait for the engine: %w", err)
	}
	state, err := r.snapshot(ctx, streams)
	if err != nil {
		return nil, err
	}
	defer state.buffers.Release()
	tables, err := r.bind(ctx, q, streams, state)
	if err != nil {
		return nil, err
	}
	if err := r.check(tables, state); err != nil {
		return nil, err
	}
	if counted, ok := r.total(tables, state); ok {
		return counted, nil
	}
	loaded, err := r.loadFresh(ctx, tables, state)
	if err != nil {
		return nil, err
	}
	if first := firstRowsOf(tables); first != nil {
		return r.firstRows(ctx, first, loaded, state)
	}
	if counted, err := r.countRows(ctx, tables, loaded, state); counted != nil || err != nil {
		return counted, err
	}
	if err := r.findRows(ctx, tables, state); err != nil {
		return nil, err
	}
	return r.execute(ctx, r.plan.SQL, tables, loaded)
}

// execute makes the views of the tables and runs a form of the statement over them.
func (r *run) execute(ctx context.Context, statement string, tables []*table, loaded map[catalog.DatasetID]*freshTable) (rows, error) {
	if err := r.createViews(ctx, tables, loaded); err != nil {
		return nil, err
	}
	rows, err := r.instance.Query(ctx, statement)
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// names returns the names that the request can use.
func (r *run) names(ctx context.Context) (sqlplan.Names, error) {
	streams, err := r.list(ctx)
	if err != nil {
		return sqlplan.Names{}, err
	}
	return sqlplan.NewNames(r.request.Database, streams), nil
}

// state is all rows of some datasets as of one moment.
type state struct {
	catalog   catalog.Snapshot
	buffers   fresh.Result     // owns the records
	records   recordsByDataset // of buffers, those that are no segment yet
	databases map[catalog.DatabaseID]catalog.Database
}

// snapshot reads the buffers of all writers, then the catalog.
func (r *run) snapshot(ctx context.Context, streams []catalog.Stream) (*state, error) {
	s := &state{databases: make(map[catalog.DatabaseID]catalog.Database)}
	if len(streams) == 0 {
		return s, nil
	}
	asked := sqlplan.Between(r.request.Start, r.request.End)
	q := catalog.SnapshotQuery{Start: asked.Start, End: asked.End}
	byOrg := make(map[tenant.ID][]catalog.DatasetID)
	for _, named := range streams {
		for _, x := range r.membersOf(named) {
			if !slices.Contains(q.Streams, x.ID) {
				q.Streams = append(q.Streams, x.ID)
			}
			if !slices.Contains(q.Datasets, x.Dataset) {
				q.Datasets = append(q.Datasets, x.Dataset)
				byOrg[x.Org] = append(byOrg[x.Org], x.Dataset)
			}
		}
	}
	var err error
	for _, org := range r.orgs() {
		if err = r.addOrg(ctx, s, org, byOrg[org]); err != nil {
			s.buffers.Release()
			return nil, err
		}
	}
	r.warnings = append(r.warnings, s.buffers.Warnings...)
	if s.catalog, err = r.querier.deps.Catalog.Snapshot(ctx, q); err != nil {
		s.buffers.Release()
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	s.catalog.Segments = r.ownSegments(s.catalog.Segments)
	s.records = s.buffers.Uncommitted(s.catalog.Committed)
	return s, nil
}

// addOrg reads the databases of an org, and the buffers of some of its datasets.
func (r *run) addOrg(ctx context.Context, s *state, org tenant.ID, datasets []catalog.DatasetID) error {
	if len(datasets) == 0 {
		return nil
	}
	databases, err := r.querier.deps.Catalog.Databases(ctx, org)
	if err != nil {
		return fmt.Errorf("list databases: %w", err)
	}
	for _, d := range databases {
		s.databases[d.ID] = d
	}
	asked := sqlplan.Between(r.request.Start, r.request.End)
	fresh, err := r.querier.deps.Buffers.Snapshot(ctx, fresh.Request{Org: org, Datasets: datasets, Start: asked.Start, End: asked.End})
	if err != nil {
		return fmt.Errorf("read fresh rows: %w", err)
	}
	fresh.Warnings = slices.DeleteFunc(fresh.Warnings, func(w string) bool { return slices.Contains(s.buffers.Warnings, w) })
	s.buffers.Join(fresh)
	return nil
}

// ownSegments is the check of the last mile: what is not the org's is left out, counted and logged.
func (r *run) ownSegments(segments []catalog.Segment) []catalog.Segment {
	return slices.DeleteFunc(segments, func(s catalog.Segment) bool {
		foreign := !slices.Contains(r.orgs(), s.Org)
		if foreign {
			r.querier.metrics.foreign.Inc()
			r.querier.deps.Logger.Error("a plan held a segment of another org; it was left out",
				"org", string(r.request.Org), "segment", int64(s.ID), "segment_org", string(s.Org))
		}
		return foreign
	})
}

// bind makes the plan and prunes the segments of each table.
func (r *run) bind(ctx context.Context, q *sqlplan.Query, streams []catalog.Stream, s *state) ([]*table, error) {
	known := make(map[catalog.StreamID][]*stream, len(streams))
	columns := make(map[catalog.StreamID][]catalog.Column, len(streams))
	for _, x := range streams {
		if known[x.ID] == nil {
			known[x.ID] = r.bound(x, s)
			columns[x.ID] = known[x.ID][0].catalogColumns()
		}
	}
	plan, err := q.Bind(ctx, sqlplan.Binding{Columns: columns, Now: r.now, Limit: r.request.Limit})
	if err != nil {
		return nil, err
	}
	r.plan = plan
	r.stats.PrunedBy = make(map[string]int64)
	var tables []*table
	for _, t := range plan.Tables {
		members, none := chosen(known[t.Stream.ID], t.Predicates)
		if len(members) > 1 {
			t.TopN = nil // the first rows of a union are not those of one of its parts
		}
		for _, x := range members {
			one := &table{Table: t, stream: x, time: r.visible(x, s.databases[x.Database]), empty: none}
			if !none {
				one.segments = one.prune(s.catalog.Segments, s.records[x.Dataset], r.stats.PrunedBy)
				r.pruneByIndex(ctx, one)
				one.cutToTopN(r.stats.PrunedBy)
			}
			tables = append(tables, one)
		}
	}
	return tables, nil
}

// check counts what the statement reads and refuses too much of it.
func (r *run) check(tables []*table, s *state) error {
	r.count(tables, s)
	if most := r.querier.opts.MaxScanRows; most > 0 && r.stats.ScannedRows > most {
		return fault.New(fault.Invalid, "the statement would read %d rows, more than the limit of %d (querier.max_scan_rows); "+
			"ask for a shorter time range or add conditions", r.stats.ScannedRows, most)
	}
	return r.checkLimits(tables)
}

// count sets the statistics to what the tables read.
func (r *run) count(tables []*table, s *state) {
	r.stats.ScannedRows, r.stats.ScannedBytes, r.stats.FreshRows, r.stats.RowGroups, r.stats.RowGroupsPruned = 0, 0, 0, 0, 0
	read := make(map[catalog.SegmentID]bool)
	datasets := make(map[catalog.DatasetID]bool)
	for _, t := range tables {
		for _, x := range t.segments {
			if read[x.ID] {
				continue
			}
			read[x.ID] = true
			r.stats.ScannedRows += t.rows(&x)
			r.stats.ScannedBytes += x.Bytes
			r.stats.RowGroups += x.RowGroups
			if groups, ok := t.blocks[x.ID]; ok {
				r.stats.RowGroupsPruned += x.RowGroups - len(groups)
			}
		}
		for _, x := range t.searched.segments {
			if !read[x.ID] {
				read[x.ID] = true
				r.stats.RowGroups += x.RowGroups
				r.stats.RowGroupsPruned += x.RowGroups
			}
		}
		r.stats.RowGroupsPruned -= t.searched.rowGroups
		r.stats.ScannedRows += t.searched.rows
		r.stats.ScannedBytes += t.searched.bytes
		datasets[t.stream.Dataset] = true
	}
	r.stats.Segments = len(read)
	r.stats.SegmentsPruned = len(s.catalog.Segments) - len(read)
	for d := range datasets {
		for _, x := range s.records[d] {
			r.stats.FreshRows += x.NumRows()
		}
	}
	r.stats.ScannedRows += r.stats.FreshRows
}

// createViews pins the files and makes a view for each table of the plan, or makes it anew.
func (r *run) createViews(ctx context.Context, tables []*table, loaded map[catalog.DatasetID]*freshTable) error {
	paths, err := r.pin(ctx, tables)
	if err != nil {
		return err
	}
	for len(tables) > 0 {
		n := slices.IndexFunc(tables, func(t *table) bool { return t.Name != tables[0].Name })
		if n < 0 {
			n = len(tables)
		}
		if err := r.instance.Exec(ctx, viewSQL(tables[:n], paths, loaded)); err != nil {
			return fmt.Errorf("make a view of stream %d: %w", tables[0].stream.ID, err)
		}
		tables = tables[n:]
	}
	return nil
}

// pin fetches the files of all tables.
func (r *run) pin(ctx context.Context, tables []*table) (map[catalog.SegmentID]string, error) {
	var segments []catalog.Segment
	paths := make(map[catalog.SegmentID]string)
	for _, t := range tables {
		for _, s := range t.segments {
			if _, ok := paths[s.ID]; !ok {
				paths[s.ID] = ""
				segments = append(segments, s)
			}
		}
	}
	if len(segments) == 0 {
		return paths, nil
	}
	local, unpin, err := r.querier.deps.Files.Pin(ctx, segments)
	if err != nil {
		return nil, fmt.Errorf("fetch data files: %w", err)
	}
	before := r.unpin
	r.unpin = func() {
		unpin()
		if before != nil {
			before()
		}
	}
	for i, s := range segments {
		paths[s.ID] = local[i]
	}
	return paths, nil
}

// loadFresh copies the fresh rows of each dataset into one table, with what all references to it need.
func (r *run) loadFresh(ctx context.Context, tables []*table, s *state) (map[catalog.DatasetID]*freshTable, error) {
	filters := make(map[catalog.DatasetID]*freshFilter)
	for _, t := range tables {
		if t.empty {
			continue
		}
		useful := t.time.Intersect(t.Time)
		f := filters[t.stream.Dataset]
		if f == nil {
			f = &freshFilter{time: useful, columns: make(map[string]bool)}
			filters[t.stream.Dataset] = f
		}
		f.time = sqlplan.TimeRange{Start: min(f.time.Start, useful.Start), End: max(f.time.End, useful.End)}
		for name := range t.wanted() {
			f.columns[name] = true
		}
		if t.stream.isMetric() {
			if f.metrics == nil {
				f.metrics = make(map[string]bool)
			}
			f.metrics[t.stream.Name] = true
		}
	}
	out := make(map[catalog.DatasetID]*freshTable)
	for dataset, f := range filters {
		t := &freshTable{name: "ms_fresh_" + strconv.FormatInt(int64(dataset), 10), filter: *f}
		loaded, err := loadFresh(ctx, r.instance, t, s.records[dataset])
		if err != nil {
			return nil, err
		}
		out[dataset] = loaded
	}
	return out, nil
}
