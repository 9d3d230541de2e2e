package columnar

import (
	"cmp"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/millstream/millstream/internal/signal"
)

// Order is how the rows of a file are sorted. Rows that are equal under it keep the order in which they came.
type Order uint8

// The orders.
const (
	ByTime   Order = iota // event time with its nanoseconds: logs and traces
	BySeries              // signal.MetricColumn, signal.LabelsColumn, event time: metrics; a missing text counts as empty
)

// rowRef is the place of a row and what it is sorted by.
type rowRef struct {
	time   int64
	nanos  int16
	record int16
	row    int32
}

// maxRecords is what rowRef can count.
const maxRecords = 1 << 15

func (r rowRef) compare(o rowRef) int {
	switch {
	case r.time != o.time:
		return cmp.Compare(r.time, o.time)
	case r.nanos != o.nanos:
		return cmp.Compare(r.nanos, o.nanos)
	case r.record != o.record:
		return cmp.Compare(r.record, o.record)
	default:
		return cmp.Compare(r.row, o.row)
	}
}

// sortedRows returns the part's rows in order; of metrics without duplicate samples.
func sortedRows(p *Part, order Order) []rowRef {
	refs := listRows(p)
	if order == BySeries {
		return sortBySeries(p, refs)
	}
	if !slices.IsSortedFunc(refs, rowRef.compare) {
		slices.SortFunc(refs, rowRef.compare)
	}
	return refs
}

func listRows(p *Part) []rowRef {
	refs := make([]rowRef, 0, p.NumRows())
	for i, r := range p.Records {
		times, nanos := signal.Times(r), signal.Nanos(r)
		add := func(row int32) {
			ref := rowRef{time: int64(times[row]), record: int16(i), row: row}
			if nanos != nil {
				ref.nanos = nanos[row]
			}
			refs = append(refs, ref)
		}
		if rows := p.selection(i); rows != nil {
			for _, row := range rows {
				add(row)
			}
			continue
		}
		for row := range int32(r.NumRows()) {
			add(row)
		}
	}
	return refs
}

// sortBySeries ranks the distinct series first, so that a row costs one look-up and no comparison of texts. Duplicate samples are left out.
func sortBySeries(p *Part, refs []rowRef) []rowRef {
	type series struct{ metric, labels string }
	metrics, labels := texts(p.Records, signal.MetricColumn), texts(p.Records, signal.LabelsColumn)
	ids := make(map[series]int32)
	var names []series
	rows := make([]seriesRow, len(refs))
	for i, ref := range refs {
		s := series{metrics(ref), labels(ref)}
		id, ok := ids[s]
		if !ok {
			id = int32(len(names))
			ids[s] = id
			names = append(names, s)
		}
		rows[i] = seriesRow{id, ref}
	}
	byName := make([]int32, len(names))
	for i := range byName {
		byName[i] = int32(i)
	}
	slices.SortFunc(byName, func(a, b int32) int {
		return cmp.Or(cmp.Compare(names[a].metric, names[b].metric), cmp.Compare(names[a].labels, names[b].labels))
	})
	rank := make([]int32, len(names))
	for place, id := range byName {
		rank[id] = int32(place)
	}
	for i := range rows {
		rows[i].series = rank[rows[i].series]
	}
	slices.SortFunc(rows, func(a, b seriesRow) int {
		if a.series != b.series {
			return cmp.Compare(a.series, b.series)
		}
		return a.compare(b.rowRef)
	})
	return withoutDuplicates(p.Records, rows, refs[:0])
}

// texts returns a function that reads a text column of any record.
func texts(records []arrow.RecordBatch, name string) func(rowRef) string {
	cols := make([]*array.String, len(records))
	for i, r := range records {
		for j, f := range r.Schema().Fields() {
			if c, ok := r.Column(j).(*array.String); ok && f.Name == name {
				cols[i] = c
			}
		}
	}
	return func(ref rowRef) string {
		if c := cols[ref.record]; c != nil && c.IsValid(int(ref.row)) {
			return c.Value(int(ref.row))
		}
		return ""
	}
}
