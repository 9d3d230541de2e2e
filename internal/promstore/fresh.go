package promstore

import (
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	promvalue "github.com/prometheus/prometheus/model/value"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire/nativehist"
)

// rows are the columns of a record that samples are made of; nil where the record lacks one.
type rows struct {
	times      []arrow.Timestamp
	metrics    *array.String
	labels     *array.String
	values     *array.Float64
	histograms *array.String
	starts     *array.Timestamp
	flags      *array.Int64
	otlp       otlpColumns
}

// otlpColumns are the columns that rows of OTLP have beside.
type otlpColumns struct {
	kinds, units, temporalities *array.String
	monotonic                   *array.Boolean
}

// metric returns what a row of OTLP belongs to. It is not ok for a row of another protocol.
func (o *otlpColumns) metric(row int) (m otlpMetric, ok bool) {
	if o.kinds == nil || o.kinds.IsNull(row) {
		return m, false
	}
	m.kind = o.kinds.Value(row)
	if o.units != nil && o.units.IsValid(row) {
		m.unit = o.units.Value(row)
	}
	if o.temporalities != nil && o.temporalities.IsValid(row) {
		m.temporality = o.temporalities.Value(row)
	}
	m.monotonic = o.monotonic != nil && o.monotonic.IsValid(row) && o.monotonic.Value(row)
	return m, true
}

func rowsOf(r arrow.RecordBatch) rows {
	out := rows{times: signal.Times(r)}
	for i, f := range r.Schema().Fields() {
		switch c := r.Column(i).(type) {
		case *array.String:
			switch f.Name {
			case signal.MetricColumn:
				out.metrics = c
			case signal.LabelsColumn:
				out.labels = c
			case signal.HistogramColumn:
				out.histograms = c
			case signal.KindColumn:
				out.otlp.kinds = c
			case signal.UnitColumn:
				out.otlp.units = c
			case signal.TemporalityColumn:
				out.otlp.temporalities = c
			}
		case *array.Boolean:
			if f.Name == signal.MonotonicColumn {
				out.otlp.monotonic = c
			}
		case *array.Float64:
			if f.Name == signal.ValueColumn {
				out.values = c
			}
		case *array.Int64:
			if f.Name == signal.FlagsColumn {
				out.flags = c
			}
		case *array.Timestamp:
			if f.Name == signal.StartColumn {
				out.starts = c
			}
		}
	}
	return out
}

// sample returns the sample of a row: a float, or the stored form of a histogram. It is not ok for rows without one.
func (r *rows) sample(row int) (value float64, histogram []byte, ok bool) {
	if r.values != nil && r.values.IsValid(row) {
		return r.values.Value(row), nil, true
	}
	if r.histograms != nil && r.histograms.IsValid(row) {
		if text := []byte(r.histograms.Value(row)); nativehist.IsNative(text) {
			return 0, text, true
		}
	}
	if r.flags != nil && r.flags.IsValid(row) && r.flags.Value(row)&signal.FlagNoValue != 0 {
		return staleMarker(), nil, true
	}
	return 0, nil, false
}

// staleMarker is the value that tells the engine that a series has ended.
func staleMarker() float64 { return math.Float64frombits(promvalue.StaleNaN) }

// start returns the start timestamp of a row in milliseconds, 0 for none.
func (r *rows) start(row int) int64 {
	if r.starts == nil || r.starts.IsNull(row) {
		return 0
	}
	return millisOf(int64(r.starts.Value(row)))
}

// growing is a piece that rows are appended to.
type growing struct {
	piece
	sorted bool
}

func (g *growing) append(millis int64, value float64, histogram []byte, start int64) {
	n := len(g.times)
	g.sorted = g.sorted && (n == 0 || g.times[n-1] < millis)
	if histogram != nil && g.histograms == nil {
		g.histograms = make([][]byte, n, n+1)
	}
	if start != 0 && g.starts == nil {
		g.starts = make([]int64, n, n+1)
	}
	g.times, g.values = append(g.times, millis), append(g.values, value)
	if g.histograms != nil {
		g.histograms = append(g.histograms, histogram)
	}
	if g.starts != nil {
		g.starts = append(g.starts, start)
	}
}

// record collects the samples of a fresh record, whose rows come in the order in which they were sent.
func (c *collector) record(rec arrow.RecordBatch) error {
	r := &recordReader{collector: c, rows: rowsOf(rec), open: make(map[*series]*growing)}
	if r.rows.metrics == nil || r.rows.labels == nil {
		return nil
	}
	for row := range r.rows.times {
		m, isOTLP := r.rows.otlp.metric(row)
		var err error
		if isOTLP {
			err = c.otlpRecord(m, &r.rows, row)
		} else {
			err = r.take(row)
		}
		if err != nil {
			return err
		}
	}
	if c.otlp != nil {
		if err := c.otlp.flush(freshVersion); err != nil {
			return err
		}
	}
	return r.flush()
}

// recordReader collects from one record.
type recordReader struct {
	*collector
	rows  rows
	open  map[*series]*growing
	order []*series

	begun          bool // current is that of metric and set
	metric, set    string
	current        *series // nil when it does not match
	oldest, newest int64   // what may be shown of it
}

// at makes current that of a row. Rows of one series mostly follow each other.
func (r *recordReader) at(row int) error {
	metric, set := r.rows.metrics.Value(row), r.rows.labels.Value(row)
	if r.begun && set == r.set && metric == r.metric {
		return nil
	}
	r.begun, r.metric, r.set, r.current = true, metric, set, nil
	if !r.selector.metricMatches(metric) {
		return nil
	}
	var err error
	r.current, err = r.findBorrowed(metric, set)
	r.oldest, r.newest = r.visible(metric)
	return err
}

// take collects the sample of a row. Histograms before the wanted time are kept to judge the one that follows.
func (r *recordReader) take(row int) error {
	if err := r.at(row); err != nil || r.current == nil {
		return err
	}
	millis := millisOf(int64(r.rows.times[row]))
	early := millis < r.oldest
	if millis > r.newest || early && (r.rows.histograms == nil || !r.samples) {
		return nil
	}
	value, histogram, ok := r.rows.sample(row)
	if !ok || early && histogram == nil {
		return nil
	}
	if !r.samples {
		return r.note(r.current, 1)
	}
	g := r.open[r.current]
	if g == nil {
		g = &growing{piece: piece{version: freshVersion}, sorted: true}
		r.open[r.current] = g
		r.order = append(r.order, r.current)
	}
	g.append(millis, value, histogram, r.rows.start(row))
	return nil
}

// flush hands the open pieces over.
func (r *recordReader) flush() error {
	for _, s := range r.order {
		g := r.open[s]
		if !g.sorted {
			g.piece = merged([]piece{g.piece})
			g.version = freshVersion
		}
		if err := r.add(s, g.piece); err != nil {
			return err
		}
	}
	return nil
}

// findBorrowed is find for texts that lie in a record, which is given back before the series is.
func (c *collector) findBorrowed(metric, set string) (*series, error) {
	if s, ok := c.series[seriesKey{metric, set}]; ok {
		return s, nil
	}
	return c.find(strings.Clone(metric), strings.Clone(set))
}

// otlpRecord hands a row of OTLP to the translator. Texts of the record are copied where they are kept.
func (c *collector) otlpRecord(m otlpMetric, r *rows, row int) error {
	m.metric, m.labels = r.metrics.Value(row), r.labels.Value(row)
	millis := millisOf(int64(r.times[row]))
	if from, to := c.visible(m.metric); millis < from || millis > to {
		return nil
	}
	x := otlpRow{millis: millis, start: r.start(row)}
	x.hasValue = r.values != nil && r.values.IsValid(row)
	if x.hasValue {
		x.value = r.values.Value(row)
	}
	x.noValue = r.flags != nil && r.flags.IsValid(row) && r.flags.Value(row)&signal.FlagNoValue != 0
	if r.histograms != nil && r.histograms.IsValid(row) {
		x.histogram = []byte(r.histograms.Value(row))
	}
	if !x.hasValue && !x.noValue && x.histogram == nil {
		return nil // it describes a metric
	}
	t := c.translator()
	if _, ok := t.targets[m]; !ok {
		m.metric, m.labels, m.kind = strings.Clone(m.metric), strings.Clone(m.labels), strings.Clone(m.kind)
		m.unit, m.temporality = strings.Clone(m.unit), strings.Clone(m.temporality)
	}
	return t.row(m, &x)
}
