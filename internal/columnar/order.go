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

// sortBySeries ranks the distinct series first, so that a row costs no comparison of texts, and puts the rows of each together, which then
// mostly are in order. Duplicate samples are left out.
func sortBySeries(p *Part, refs []rowRef) []rowRef {
	metrics, labels := texts(p.Records, signal.MetricColumn), texts(p.Records, signal.LabelsColumn)
	var series signal.SeriesNumbers
	ids := make([]int32, len(refs))
	for i, ref := range refs {
		ids[i] = series.Of(signal.Series{Metric: metrics(ref), Labels: labels(ref)})
	}
	ends := make([]int, series.Len()) // by id: first the number of rows, then where the next row goes
	for _, id := range ids {
		ends[id]++
	}
	byName := make([]int32, series.Len())
	for i := range byName {
		byName[i] = int32(i)
	}
	slices.SortFunc(byName, func(a, b int32) int {
		x, y := series.Series(a), series.Series(b)
		return cmp.Or(cmp.Compare(x.Metric, y.Metric), cmp.Compare(x.Labels, y.Labels))
	})
	start := 0
	for _, id := range byName {
		ends[id], start = start, start+ends[id]
	}
	sorted := make([]rowRef, len(refs))
	for i, ref := range refs {
		sorted[ends[ids[i]]] = ref
		ends[ids[i]]++
	}
	samples := sampleFinder{records: p.Records}
	out := refs[:0]
	start = 0
	for _, id := range byName {
		rows := sorted[start:ends[id]]
		start = ends[id]
		if !slices.IsSortedFunc(rows, rowRef.compare) {
			slices.SortFunc(rows, rowRef.compare)
		}
		out = samples.appendOnce(out, rows)
	}
	return out
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
