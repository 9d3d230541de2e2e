package querier

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/sqlplan"
)

// Reasons why a segment is not read, as statistics name them.
const (
	prunedByTime       = "time"
	prunedByStatistics = "statistics"
)

// prune returns the segments that may hold a row that the table's reference can use, and counts the others by reason.
func (t *table) prune(segments []catalog.Segment, pruned map[string]int64) []catalog.Segment {
	var out []catalog.Segment
	useful := t.time.Intersect(t.Table.Time)
	for _, s := range segments {
		switch {
		case s.Dataset != t.stream.Dataset:
		case s.MaxTime < useful.Start || s.MinTime >= useful.End:
			pruned[prunedByTime]++
		case t.contradicted(&s):
			pruned[prunedByStatistics]++
		default:
			out = append(out, s)
		}
	}
	return out
}

// contradicted reports whether no row of the segment can fulfil all predicates.
func (t *table) contradicted(s *catalog.Segment) bool {
	if t.stream.isMetric() {
		is := []sqlplan.Constant{{Type: "VARCHAR", Text: t.stream.Name}}
		name := sqlplan.Predicate{Column: signal.MetricColumn, Op: sqlplan.Equal, Values: is}
		if t.contradicts(s, name) {
			return true
		}
	}
	return slices.ContainsFunc(t.Predicates, func(p sqlplan.Predicate) bool { return t.contradicts(s, p) })
}

// contradicts reports whether no row of the segment can fulfil a predicate. Bounds of a file count only where it has the column in one
// type that is today's (decisions B2).
func (t *table) contradicts(s *catalog.Segment, p sqlplan.Predicate) bool {
	c, ok := t.stream.find(p.Column)
	if !ok || c.label {
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
	switch op {
	case sqlplan.Equal, sqlplan.In:
		return low <= 0 && high >= 0
	case sqlplan.Less:
		return low < 0
	case sqlplan.LessOrEqual:
		return low <= 0
	case sqlplan.Greater:
		return high > 0
	case sqlplan.GreaterOrEqual:
		return high >= 0
	default:
		return true
	}
}

// compare compares a bound with a constant as the engine compares a value with it. It is not ok when that is not certain.
func compare(typ signal.Type, bound string, v sqlplan.Constant) (order int, ok bool) {
	switch typ {
	case signal.Int64:
		return compareInt(bound, v)
	case signal.Float64:
		return compareFloat(bound, v)
	case signal.Timestamp:
		return compareTime(bound, v)
	case signal.String:
		return strings.Compare(bound, v.Text), v.Type == "VARCHAR"
	default:
		return 0, false
	}
}

// maxExact is the greatest integer below which every integer is exact in a float64.
const maxExact = 1 << 53

func compareInt(bound string, v sqlplan.Constant) (int, bool) {
	b, err := strconv.ParseInt(bound, 10, 64)
	if err != nil || !isNumber(v.Type) {
		return 0, false
	}
	c, ok := new(big.Rat).SetString(v.Text)
	if !ok || len(v.Text) > maxNumberText {
		return 0, false
	}
	if !c.IsInt() || isFloat(v.Type) {
		if b > maxExact || b < -maxExact { // the engine may round it
			return 0, false
		}
	}
	return new(big.Rat).SetInt64(b).Cmp(c), true
}

// maxNumberText keeps exponents of hostile constants from becoming big numbers.
const maxNumberText = 40

func compareFloat(bound string, v sqlplan.Constant) (int, bool) {
	b, err := strconv.ParseFloat(bound, 64)
	if err != nil || !isNumber(v.Type) || len(v.Text) > maxNumberText {
		return 0, false
	}
	c, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || math.IsNaN(c) || math.IsNaN(b) {
		return 0, false
	}
	switch {
	case b < c:
		return -1, true
	case b > c:
		return 1, true
	default:
		return 0, true
	}
}

func compareTime(bound string, v sqlplan.Constant) (int, bool) {
	b, err := strconv.ParseInt(bound, 10, 64)
	if err != nil {
		return 0, false
	}
	switch v.Type {
	case "TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "DATE":
	default:
		return 0, false
	}
	switch {
	case b < v.Micros:
		return -1, true
	case b > v.Micros:
		return 1, true
	default:
		return 0, true
	}
}

func isFloat(typ string) bool { return typ == "DOUBLE" || typ == "FLOAT" }

func isNumber(typ string) bool {
	switch typ {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "DOUBLE":
		return true
	}
	return strings.HasPrefix(typ, "DECIMAL")
}
