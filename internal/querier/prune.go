package querier

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
)

// Reasons why a segment is not read, as statistics name them.
const (
	prunedByTime       = "time"
	prunedByStatistics = "statistics"
)

// prune returns the segments that may hold a row that the table's reference can use, and counts the others by reason. Of a metric it finds
// the times in which samples may be there twice; there a segment stays that no predicate lets through, since its samples may outdo others
// that would be shown. records are the fresh rows of the dataset.
func (t *table) prune(segments []catalog.Segment, records []arrow.RecordBatch, pruned map[string]int64) []catalog.Segment {
	var out []catalog.Segment
	useful := t.time.Intersect(t.Time)
	for _, s := range segments {
		switch {
		case s.Dataset != t.stream.Dataset:
		case s.MaxTime < useful.Start || s.MinTime >= useful.End:
			pruned[prunedByTime]++
		case t.stream.isMetric() && !t.mayHoldMetric(&s):
			pruned[prunedByStatistics]++
		default:
			out = append(out, s)
		}
	}
	if t.stream.isMetric() {
		t.findOverlaps(out, records)
	}
	return slices.DeleteFunc(out, func(s catalog.Segment) bool {
		contradicted := t.contradicted(&s) && !t.isOverlapped(&s)
		if contradicted {
			pruned[prunedByStatistics]++
		}
		return contradicted
	})
}

// mayHoldMetric reports whether a segment of the metrics' dataset may hold rows of the table's metric.
func (t *table) mayHoldMetric(s *catalog.Segment) bool {
	is := []sqlplan.Constant{{Type: "VARCHAR", Text: t.stream.Name}}
	return !t.contradicts(s, sqlplan.Predicate{Column: signal.MetricColumn, Op: sqlplan.Equal, Values: is})
}

// contradicted reports whether no row of the segment can fulfil all predicates.
func (t *table) contradicted(s *catalog.Segment) bool {
	return slices.ContainsFunc(t.Predicates, func(p sqlplan.Predicate) bool { return t.contradicts(s, p) })
}

// contradicts reports whether no row of the segment can fulfil a predicate. Bounds of a file count only where it has the column in one
// type that is today's (decisions B2).
func (t *table) contradicts(s *catalog.Segment, p sqlplan.Predicate) bool {
	c, ok := t.stream.find(p.Column)
	if !ok || c.label || c.tenant { // the orgs are chosen before
		return false
	}
	var found []catalog.SegmentColumn
	for _, x := range s.Columns {
		if t.stream.isMetric() && x.Physical == c.Physical || !t.stream.isMetric() && x.ID == c.ID && c.ID != 0 {
			found = append(found, x)
		}
	}
	switch {
	case len(found) == 0:
		return true // NULL in every row
	case len(found) > 1 || found[0].Type != c.typ:
		return false
	case p.Op == sqlplan.IsNotNull:
		return found[0].Nulls >= s.Rows
	}
	x := found[0]
	if x.Min == "" && x.Max == "" {
		return false
	}
	return !slices.ContainsFunc(p.Values, func(v sqlplan.Constant) bool { return possible(&x, p.Op, v) })
}

// possible reports whether a value between the column's bounds may compare so with the constant. It is true when in doubt.
func possible(x *catalog.SegmentColumn, op sqlplan.Op, v sqlplan.Constant) bool {
	low, lowOK := compare(x.Type, x.Min, v) // Min against the constant
	high, highOK := compare(x.Type, x.Max, v)
	if !lowOK || !highOK {
		return true
	}
	return op.Possible(low, high)
}

// compare compares a bound with a constant as the engine compares a value with it. The planner gives constants in the column's own
// type. It is not ok when the order is not certain.
func compare(typ signal.Type, bound string, v sqlplan.Constant) (order int, ok bool) {
	switch {
	case typ == signal.Int64 && v.Type == "BIGINT":
		b, err := strconv.ParseInt(bound, 10, 64)
		c, err2 := strconv.ParseInt(v.Text, 10, 64)
		return cmp.Compare(b, c), err == nil && err2 == nil
	case typ == signal.Float64 && v.Type == "DOUBLE":
		b, err := strconv.ParseFloat(bound, 64)
		c, err2 := strconv.ParseFloat(v.Text, 64)
		return cmp.Compare(b, c), err == nil && err2 == nil && !math.IsNaN(b) && !math.IsNaN(c)
	case typ == signal.Timestamp && v.Type == "TIMESTAMP WITH TIME ZONE":
		b, err := strconv.ParseInt(bound, 10, 64)
		return cmp.Compare(b, v.Micros), err == nil
	case typ == signal.String && v.Type == "VARCHAR":
		return strings.Compare(bound, v.Text), true
	default:
		return 0, false
	}
}
