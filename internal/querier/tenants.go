package querier

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
	"github.com/millstream/millstream/internal/tenant"
)

// A statement may read several orgs. A stream that it names is then the union of the streams of that name that the orgs have: their columns
// are joined by name and widened as those of files are, and TenantColumn tells whose a row is.

// errSeveralOrgs is the answer to statements that are about one org.
var errSeveralOrgs = fault.New(fault.Invalid, "several orgs at once can be asked with SELECT alone; name one org for this statement")

// orgs returns the orgs that are asked, sorted.
func (r *run) orgs() []tenant.ID {
	if len(r.request.Orgs) > 1 {
		return r.request.Orgs
	}
	return []tenant.ID{r.request.Org}
}

// several reports whether more than one org is asked.
func (r *run) several() bool { return len(r.request.Orgs) > 1 }

// list returns the streams that the statement can name. Of several orgs that have a stream the first stands for all; members remembers
// the others.
func (r *run) list(ctx context.Context) ([]catalog.Stream, error) {
	type name struct {
		database, stream string
		signal           signal.Signal
	}
	var out []catalog.Stream
	first := map[name]catalog.StreamID{}
	r.members = map[catalog.StreamID][]catalog.Stream{}
	for _, org := range r.orgs() {
		streams, err := r.querier.deps.Catalog.Streams(ctx, org)
		if err != nil {
			return nil, fmt.Errorf("list streams: %w", err)
		}
		for _, s := range streams {
			key := name{s.Stream.Database, s.Name, s.Signal}
			id, ok := first[key]
			if !ok {
				id = s.ID
				first[key] = id
				out = append(out, s)
			}
			if r.several() {
				r.members[id] = append(r.members[id], s)
			}
		}
	}
	return out, nil
}

// membersOf returns the streams that a stream of the statement stands for.
func (r *run) membersOf(s catalog.Stream) []catalog.Stream {
	if m := r.members[s.ID]; len(m) > 0 {
		return m
	}
	return []catalog.Stream{s}
}

// bound returns the streams that a stream of the statement stands for with their columns. All have the same columns in the same order;
// those that one lacks are NULL in its rows.
func (r *run) bound(s catalog.Stream, state *state) []*stream {
	members := r.membersOf(s)
	if !r.several() {
		return []*stream{newStream(s, state.catalog.Columns[s.ID], state.records[s.Dataset])}
	}
	var records []arrow.RecordBatch
	ids := make([]map[string]catalog.ColumnID, len(members))
	var published []catalog.Column
	at, taken := map[string]int{}, map[string]bool{strings.ToLower(signal.TenantColumn): true}
	for i, m := range members {
		records = append(records, state.records[m.Dataset]...)
		ids[i] = map[string]catalog.ColumnID{}
		for _, c := range state.catalog.Columns[m.ID] {
			ids[i][c.Name] = c.ID
			if j, ok := at[c.Name]; ok {
				published[j].Types |= c.Types
				continue
			}
			at[c.Name] = len(published)
			c.Physical = freePhysical(taken, c.Name)
			published = append(published, c)
		}
	}
	joined := newStream(s, published, records)
	for i := range joined.columns { // a metric's label of that name
		if c := &joined.columns[i]; strings.EqualFold(c.Physical, signal.TenantColumn) {
			c.Physical = "original_" + c.Physical
		}
	}
	out := make([]*stream, len(members))
	for i, m := range members {
		own := &stream{Stream: m, columns: []column{tenantColumn()}}
		for _, c := range joined.columns {
			c.ID = ids[i][c.Name]
			own.columns = append(own.columns, c)
		}
		out[i] = own
	}
	return out
}

// tenantColumn is the column that tells whose a row is.
func tenantColumn() column {
	return column{
		Column: catalog.Column{Name: signal.TenantColumn, Physical: signal.TenantColumn, Types: signal.SetOf(signal.String)},
		typ:    signal.String, tenant: true,
	}
}

// excludes reports whether the statement's conditions on TenantColumn leave out an org.
func excludes(predicates []sqlplan.Predicate, org tenant.ID) bool {
	text := string(org)
	return slices.ContainsFunc(predicates, func(p sqlplan.Predicate) bool {
		if p.Column != signal.TenantColumn || p.Op == sqlplan.IsNotNull {
			return false
		}
		is := catalog.SegmentColumn{Type: signal.String, Min: text, Max: text}
		return !slices.ContainsFunc(p.Values, func(v sqlplan.Constant) bool { return possible(&is, p.Op, v) })
	})
}

// chosen drops the members that the statement leaves out. One is kept in any case, for the view's columns.
func chosen(members []*stream, predicates []sqlplan.Predicate) (kept []*stream, none bool) {
	for _, m := range members {
		if !excludes(predicates, m.Org) {
			kept = append(kept, m)
		}
	}
	if len(kept) == 0 {
		return members[:1], true
	}
	return kept, false
}
