package querier

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/duck"
	"github.com/millstream/millstream/internal/signal"
)

// prunedByCatalog is the reason of segments whose number of rows, which the catalog knows, is all that a statement asks for.
const prunedByCatalog = "catalog"

// total answers a statement that asks for the number of rows alone. It is not ok where some file holds rows that do not count: those
// out of the time range, or of another metric.
func (r *run) total(tables []*table, s *state) (rows, bool) {
	if r.plan.Total == "" || r.querier.opts.NoSearch {
		return nil, false
	}
	var n, segments int64
	for _, t := range tables {
		if t.stream.isMetric() {
			return nil, false
		}
		if t.empty {
			continue
		}
		for i := range t.segments {
			x := &t.segments[i]
			if !t.allCount(x) {
				return nil, false
			}
			n += x.Rows
			segments++
		}
		for _, record := range s.records[t.stream.Dataset] {
			for _, at := range signal.Times(record) {
				if int64(at) >= t.time.Start && int64(at) < t.time.End {
					n++
				}
			}
		}
	}
	r.stats.PrunedBy[prunedByCatalog] += segments
	r.stats.ScannedRows, r.stats.ScannedBytes, r.stats.RowGroups, r.stats.RowGroupsPruned = r.stats.FreshRows, 0, 0, 0
	r.stats.SegmentsPruned += r.stats.Segments
	r.stats.Segments = 0
	return newNumber(r.plan.Total, n), true
}

// allCount reports whether all rows of a segment are in the view.
func (t *table) allCount(s *catalog.Segment) bool {
	_, restricted := t.blocks[s.ID]
	return !restricted && s.MinTime >= t.time.Start && s.MaxTime < t.time.End
}

// newNumber returns a result of one BIGINT.
func newNumber(name string, n int64) *static {
	meta := arrow.NewMetadata([]string{duck.TypeKey}, []string{"BIGINT"})
	field := arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true, Metadata: meta}
	s := &static{schema: arrow.NewSchema([]arrow.Field{field}, nil)}
	b := array.NewRecordBuilder(memory.DefaultAllocator, s.schema)
	defer b.Release()
	b.Field(0).(*array.Int64Builder).Append(n) //nolint:forcetypeassert // made above
	s.batch = b.NewRecordBatch()
	return s
}
