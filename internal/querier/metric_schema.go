package querier

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/valyala/fastjson"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/signal"
)

// metricField is a column that every metric has.
type metricField struct {
	name string
	typ  signal.Type
}

// ownMetricFields are the columns of metrics datasets in the order of SELECT *; labels stand after the first.
func ownMetricFields() []metricField {
	return []metricField{
		{signal.ValueColumn, signal.Float64},
		{signal.MetricColumn, signal.String},
		{signal.LabelsColumn, signal.JSON},
		{signal.KindColumn, signal.String},
		{signal.UnitColumn, signal.String},
		{signal.DescriptionColumn, signal.String},
		{signal.TemporalityColumn, signal.String},
		{signal.MonotonicColumn, signal.Bool},
		{signal.StartColumn, signal.Timestamp},
		{signal.HistogramColumn, signal.JSON},
		{signal.ExemplarsColumn, signal.JSON},
		{signal.FlagsColumn, signal.Int64},
		{signal.OverflowColumn, signal.JSON},
	}
}

// metricColumns returns the columns of a metric: those of ours and its labels. A label whose name is one of ours in any case can be
// read from signal.LabelsColumn only.
func metricColumns(published []catalog.Column, fresh []string) []column {
	var out []column
	taken := make(map[string]bool)
	for _, f := range ownMetricFields() {
		out = append(out, column{Column: catalog.Column{Name: f.name, Physical: f.name, Types: signal.SetOf(f.typ)}, typ: f.typ})
		taken[f.name] = true
	}
	taken[signal.TimeColumn], taken[signal.NanosColumn], taken[signal.BlockColumn] = true, true, true
	var labels []column
	known := make(map[string]bool)
	add := func(c catalog.Column) {
		if known[c.Name] || taken[strings.ToLower(c.Physical)] {
			return
		}
		known[c.Name], taken[strings.ToLower(c.Physical)] = true, true
		c.Types = signal.SetOf(signal.String)
		labels = append(labels, column{Column: c, typ: signal.String, label: true})
	}
	for _, c := range published {
		add(c)
	}
	for _, name := range fresh {
		if known[name] {
			continue
		}
		add(catalog.Column{Name: name, Physical: freeLabel(taken, name)})
	}
	return slices.Insert(out, 1, labels...)
}

// freeLabel is freePhysical for a label, but leaves a name of ours as it is, so that add drops it.
func freeLabel(taken map[string]bool, name string) string {
	if slices.ContainsFunc(ownMetricFields(), func(f metricField) bool { return strings.EqualFold(f.name, name) }) {
		return name
	}
	candidate := freePhysical(taken, name)
	delete(taken, strings.ToLower(candidate))
	return candidate
}

// labelNames lists the labels of a metric among fresh rows, in order of first sight.
func labelNames(records []arrow.RecordBatch, metric string) []string {
	var out []string
	known := make(map[string]bool)
	seen := make(map[string]bool)
	var p fastjson.Parser
	for _, r := range records {
		names, labels := texts(r, signal.MetricColumn), texts(r, signal.LabelsColumn)
		if names == nil || labels == nil {
			continue
		}
		for i := range names.Len() {
			set := labels.Value(i)
			if names.Value(i) != metric || seen[set] {
				continue
			}
			seen[set] = true
			for _, key := range keysOf(&p, set) {
				if !known[key] {
					known[key] = true
					out = append(out, key)
				}
			}
		}
	}
	return out
}

// keysOf returns the keys of a JSON object.
func keysOf(p *fastjson.Parser, text string) []string {
	v, err := p.Parse(text)
	if err != nil {
		return nil
	}
	object, err := v.Object()
	if err != nil {
		return nil
	}
	var keys []string
	object.Visit(func(key []byte, _ *fastjson.Value) { keys = append(keys, string(key)) })
	return keys
}

// texts returns a text column of a record, nil if there is none.
func texts(r arrow.RecordBatch, name string) *array.String {
	for _, j := range r.Schema().FieldIndices(name) {
		if c, ok := r.Column(j).(*array.String); ok {
			return c
		}
	}
	return nil
}

// labelOf reads a label out of a label set: a JSON pointer takes any name.
func labelOf(set, name string) string {
	pointer := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	return "json_extract_string(" + set + ", " + literal(pointer) + ")"
}

// sampleColumns are the columns that make a row of a metric a sample. Rows with none of them describe a metric or carry an exemplar
// alone, and are no rows of the metric's stream (docs/format/metrics.md).
func sampleColumns() []string {
	return []string{signal.ValueColumn, signal.HistogramColumn, signal.FlagsColumn}
}

// sampled returns the columns of a segment of which a row must have one to be a sample; none when every row is one for certain.
func (t *table) sampled(s *catalog.Segment) []string {
	if !t.stream.isMetric() {
		return nil
	}
	var out []string
	for _, c := range s.Columns {
		if !slices.Contains(sampleColumns(), c.Physical) {
			continue
		}
		if c.Nulls == 0 {
			return nil
		}
		out = append(out, c.Physical)
	}
	if len(out) == 0 {
		return noSample()
	}
	return out
}

// noSample says that no row is a sample.
func noSample() []string { return []string{""} }

// anyPresent returns the condition that one of the columns is not null; none for no columns, and false for
// noSample.
func anyPresent(columns []string) []string {
	switch {
	case len(columns) == 0:
		return nil
	case columns[0] == "":
		return []string{"false"}
	}
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = ident(c) + " IS NOT NULL"
	}
	return []string{"(" + strings.Join(parts, " OR ") + ")"}
}
