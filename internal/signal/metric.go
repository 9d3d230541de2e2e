package signal

// Columns of a metrics batch, one row a sample (or a histogram, which is one sample kept whole). A batch may hold many metrics;
// its Stream.Name is empty. MetricColumn and LabelsColumn are never null and together are the series; the others are null where
// they do not apply.
const (
	MetricColumn      = "_metric"      // string: the metric's name
	ValueColumn       = "value"        // float64: the sample; null for histograms, which HistogramColumn holds
	KindColumn        = "_kind"        // string: a MetricKind
	UnitColumn        = "_unit"        // string
	DescriptionColumn = "_description" // string
	TemporalityColumn = "_temporality" // string: TemporalityDelta or TemporalityCumulative
	MonotonicColumn   = "_monotonic"   // bool: of sums
	StartColumn       = "_start"       // timestamp: when counting began
	HistogramColumn   = "_histogram"   // JSON object: the buckets, sum, count, min, max of one sample
	ExemplarsColumn   = "_exemplars"   // JSON array
	FlagsColumn       = "_flags"       // int64: OTLP's data point flags, absent when 0
	VersionColumn     = "_version"     // int64: the segment that the row was flushed to; in merged files alone
)

// MetricKind is the kind of a metric as KindColumn stores it; empty when nobody said.
type MetricKind string

// The kinds of metrics.
const (
	MetricGauge                MetricKind = "gauge"
	MetricCounter              MetricKind = "counter"
	MetricSum                  MetricKind = "sum"
	MetricHistogram            MetricKind = "histogram"
	MetricExponentialHistogram MetricKind = "exponential_histogram"
	MetricSummary              MetricKind = "summary"
	MetricUntyped              MetricKind = "untyped"
)

// FlagNoValue in FlagsColumn says that the series has no value from this time on: OTLP's "no recorded value" and Prometheus' staleness
// marker, whose value is null.
const FlagNoValue = 1

// The values of TemporalityColumn.
const (
	TemporalityDelta      = "delta"
	TemporalityCumulative = "cumulative"
)

// Sample is one row of a metrics batch. Zero fields are absent from the row, except Name, Labels and Nanos. SetSample copies the
// bytes.
type Sample struct {
	Name   []byte // of the metric
	Labels *LabelSet
	Nanos  int64 // time of the sample, nanoseconds since the epoch

	Value    float64 // the sample, when HasValue
	HasValue bool

	Kind        MetricKind
	Unit        []byte
	Description []byte
	Temporality string // TemporalityDelta or TemporalityCumulative
	Monotonic   bool   // written for MetricSum and MetricCounter
	StartNanos  int64  // nanoseconds since the epoch
	Histogram   []byte // a JSON object
	Exemplars   []byte // a JSON array
	Flags       int64
}

// MetricBuilder appends samples to a Builder in the layout of metrics batches. Like the Builder it serves one goroutine.
type MetricBuilder struct {
	b      *Builder
	labels []byte
}

// NewMetricBuilder returns a MetricBuilder that appends to b.
func NewMetricBuilder(b *Builder) *MetricBuilder { return &MetricBuilder{b: b} }

// Append writes s as one finished row.
func (m *MetricBuilder) Append(s *Sample) {
	m.b.BeginRow()
	m.SetSample(s)
	m.b.EndRow(s.Nanos)
}

// SetSample writes the columns of s to the open row, for a caller that adds columns of its own (OverflowColumn) and ends the row.
// It sorts s.Labels.
func (m *MetricBuilder) SetSample(s *Sample) {
	b := m.b
	b.SetString(b.OwnColumn(MetricColumn), s.Name)
	m.labels = s.Labels.AppendJSON(m.labels[:0])
	b.SetJSON(b.OwnColumn(LabelsColumn), m.labels)
	if s.HasValue {
		b.SetFloat64(b.OwnColumn(ValueColumn), s.Value)
	}
	if s.Kind != "" {
		b.SetString(b.OwnColumn(KindColumn), []byte(s.Kind))
	}
	m.setText(UnitColumn, s.Unit)
	m.setText(DescriptionColumn, s.Description)
	if s.Temporality != "" {
		b.SetString(b.OwnColumn(TemporalityColumn), []byte(s.Temporality))
	}
	if s.Kind == MetricSum || s.Kind == MetricCounter {
		b.SetBool(b.OwnColumn(MonotonicColumn), s.Monotonic)
	}
	if s.StartNanos != 0 {
		micros, _ := floorDiv(s.StartNanos, 1000)
		b.SetTimestamp(b.OwnColumn(StartColumn), micros)
	}
	if len(s.Histogram) > 0 {
		b.SetJSON(b.OwnColumn(HistogramColumn), s.Histogram)
	}
	if len(s.Exemplars) > 0 {
		b.SetJSON(b.OwnColumn(ExemplarsColumn), s.Exemplars)
	}
	if s.Flags != 0 {
		b.SetInt64(b.OwnColumn(FlagsColumn), s.Flags)
	}
}

func (m *MetricBuilder) setText(column string, text []byte) {
	if len(text) > 0 {
		m.b.SetString(m.b.OwnColumn(column), text)
	}
}

// TenantColumn tells whose a row is, in answers of several orgs. No file has it. Loki calls it so.
const TenantColumn = "__tenant_id__"
