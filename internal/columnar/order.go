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

// seriesText is what rows of a series have in common.
type seriesText struct{ metric, labels string }

// seriesIDs numbers the series of rows in order of first sight.
type seriesIDs struct {
	ids   map[seriesText]int32
	names []seriesText
	after []int32 // by id: the series that followed it last
	last  int32
}

// id returns the number of a row's series. Senders repeat their series in one order, so the next one mostly is known without a look-up.
func (s *seriesIDs) id(name seriesText) int32 {
	if len(s.names) > 0 {
		if next := s.after[s.last]; s.names[next] == name {
			s.last = next
			return next
		}
	}
	id, ok := s.ids[name]
	if !ok {
		id = int32(len(s.names))
		s.ids[name] = id
		s.names, s.after = append(s.names, name), append(s.after, id)
	}
	s.after[s.last] = id
	s.last = id
	return id
}

// sortBySeries ranks the distinct series first, so that a row costs no comparison of texts, and puts the rows of each together, which then
// mostly are in order. Duplicate samples are left out.
func sortBySeries(p *Part, refs []rowRef) []rowRef {
	metrics, labels := texts(p.Records, signal.MetricColumn), texts(p.Records, signal.LabelsColumn)
	series := seriesIDs{ids: make(map[seriesText]int32)}
	ids := make([]int32, len(refs))
	for i, ref := range refs {
		ids[i] = series.id(seriesText{metrics(ref), labels(ref)})
	}
	ends := make([]int, len(series.names)) // by id: first the number of rows, then where the next row goes
	for _, id := range ids {
		ends[id]++
	}
	byName := make([]int32, len(series.names))
	for i := range byName {
		byName[i] = int32(i)
	}
	slices.SortFunc(byName, func(a, b int32) int {
		x, y := &series.names[a], &series.names[b]
		return cmp.Or(cmp.Compare(x.metric, y.metric), cmp.Compare(x.labels, y.labels))
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
