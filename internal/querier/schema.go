package querier

import (
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/signal"
)

// column is one column of a stream as statements see it.
type column struct {
	catalog.Column
	typ   signal.Type // today's
	label bool        // a label of a metric, which lies in signal.LabelsColumn
	named bool        // shown only where a statement names it
	// tenant marks signal.TenantColumn, which no file has.
	tenant bool
}

// stream is one stream of a statement with its columns of today.
type stream struct {
	catalog.Stream
	columns []column
}

func (s *stream) isMetric() bool { return s.Signal == signal.Metrics }

// find returns the column with a physical name.
func (s *stream) find(field string) (column, bool) {
	for _, c := range s.columns {
		if c.Physical == field {
			return c, true
		}
	}
	return column{}, false
}

// catalogColumns returns the columns for the planner.
func (s *stream) catalogColumns() []catalog.Column {
	out := make([]catalog.Column, 0, len(s.columns))
	for _, c := range s.columns {
		if !c.named {
			out = append(out, c.Column)
		}
	}
	return out
}

// newStream joins the published columns of a stream with those among its fresh rows. Columns without a type, which are only
// reserved, are left out.
func newStream(s catalog.Stream, published []catalog.Column, records []arrow.RecordBatch) *stream {
	out := &stream{Stream: s}
	if out.isMetric() {
		out.columns = metricColumns(published, labelNames(records, s.Name))
		return out
	}
	columns := addFresh(published, records)
	for _, c := range columns {
		if typ, _ := c.Types.Resolve(); typ != 0 {
			out.columns = append(out.columns, column{Column: c, typ: typ})
		}
	}
	if _, ok := out.find(signal.OverflowColumn); !ok {
		c := catalog.Column{Name: signal.OverflowColumn, Physical: signal.OverflowColumn, Types: signal.SetOf(signal.JSON)}
		out.columns = append(out.columns, column{Column: c, typ: signal.JSON, named: true})
	}
	return out
}

// addFresh joins the types of fresh rows to the columns. Columns that nobody has published come last.
func addFresh(published []catalog.Column, records []arrow.RecordBatch) []catalog.Column {
	columns := slices.Clone(published)
	at := make(map[string]int, len(columns))
	taken := make(map[string]bool, len(columns))
	for i, c := range columns {
		at[c.Name] = i
		taken[strings.ToLower(c.Physical)] = true
	}
	for _, r := range records {
		for j := signal.FirstField(r.Schema()); j < int(r.NumCols()); j++ {
			f := r.Schema().Field(j)
			typ, ok := signal.FieldType(f)
			if !ok || r.Column(j).NullN() == r.Column(j).Len() {
				continue
			}
			i, ok := at[f.Name]
			if !ok {
				i = len(columns)
				at[f.Name] = i
				columns = append(columns, catalog.Column{Name: f.Name, Physical: freePhysical(taken, f.Name)})
			}
			columns[i].Types |= signal.SetOf(typ)
		}
	}
	markInexact(columns, at, records)
	return columns
}

// freePhysical names a column that the catalog does not know yet by the catalog's rule, so that the name stays once it does.
func freePhysical(taken map[string]bool, name string) string {
	if name == "" {
		name = "_empty"
	}
	name = strings.ReplaceAll(name, "\x00", "\uFFFD")
	candidate := name
	for n := 2; taken[strings.ToLower(candidate)]; n++ {
		candidate = name + "__" + strconv.Itoa(n)
	}
	taken[strings.ToLower(candidate)] = true
	return candidate
}

// markInexact looks for integers that no float64 holds in columns where that decides the type.
func markInexact(columns []catalog.Column, at map[string]int, records []arrow.RecordBatch) {
	decides := signal.SetOf(signal.Int64, signal.Float64)
	for _, r := range records {
		for j := signal.FirstField(r.Schema()); j < int(r.NumCols()); j++ {
			ints, ok := r.Column(j).(*array.Int64)
			i, known := at[r.ColumnName(j)]
			if !ok || !known || columns[i].Types != decides {
				continue
			}
			for row := range ints.Len() {
				if ints.IsValid(row) && signal.IsInexactInt(ints.Value(row)) {
					columns[i].Types |= signal.InexactInt
					break
				}
			}
		}
	}
}

// sqlType returns the engine's type of a column.
func sqlType(t signal.Type) string {
	switch t {
	case signal.Bool:
		return "BOOLEAN"
	case signal.Int64:
		return "BIGINT"
	case signal.Float64:
		return "DOUBLE"
	case signal.Timestamp:
		return "TIMESTAMP WITH TIME ZONE"
	case signal.JSON:
		return "JSON"
	default:
		return "VARCHAR"
	}
}
