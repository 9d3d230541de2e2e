package otlp

import (
	"math"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
)

// DecodeMetrics decodes the body of an ExportMetricsServiceRequest, in the way of DecodeLogs. The Result counts data points, each
// of which becomes one row in the layout of signal.MetricBuilder; stream.Name should be empty, since a batch holds many metrics.
func DecodeMetrics(body []byte, enc Encoding, opts wire.Options, stream signal.Stream, emit wire.Emit) (wire.Result, error) {
	m := &metricDecoder{decoder: newDecoder(enc, opts, stream, func([]byte) bool { return false })}
	m.record = m.read
	m.labels = true
	m.builder = signal.NewMetricBuilder(m.chunk.Builder)
	m.visitPoint = m.pointField
	return m.decode(metricsEnvelope, body, emit)
}

type metricDecoder struct {
	*decoder
	builder    *signal.MetricBuilder
	metric     metric
	point      point
	labelSet   signal.LabelSet
	visitPoint visitor
}

// metric is what the points of one metric share.
type metric struct {
	name, description, unit []byte
	kind                    signal.MetricKind
	what                    string   // a point of this kind in words
	message                 *message // of a point
	temporality             string
	monotonic               bool
}

// read reads one metric: first what its points share, wherever it stands, then the points. Data of the different kinds is one oneof
// of protobuf: the last on the wire counts, and what stands before it is checked and dropped.
func (m *metricDecoder) read(raw []byte) error {
	m.metric = metric{}
	var (
		data   metricData
		before []metricData
	)
	err := m.each(metricMessage, raw, func(id int, v value) error {
		switch id {
		case metricName:
			m.metric.name = m.tree.keep(v.raw)
		case metricDescription:
			m.metric.description = m.tree.keep(v.raw)
		case metricUnit:
			m.metric.unit = m.tree.keep(v.raw)
		case metricMetadata:
			return m.verify(keyValueMessage, v.raw)
		default:
			if data.field != nil {
				before = append(before, data)
			}
			data = metricData{metricMessage.byID(id), v.raw}
		}
		return nil
	})
	for _, b := range before {
		if err == nil {
			err = at(m.verify(b.field.of, b.raw), b.field.name, -1)
		}
	}
	if err != nil || data.field == nil {
		return err
	}
	return at(m.data(data.field, data.raw), data.field.name, -1)
}

// metricData is a Gauge, Sum, Histogram, ExponentialHistogram or Summary.
type metricData struct {
	field *field
	raw   []byte
}

func (m *metricDecoder) data(f *field, raw []byte) error {
	m.metric.kind, m.metric.what = metricKind(f.id)
	err := m.each(f.of, raw, func(id int, v value) error {
		switch id {
		case dataTemporality:
			m.metric.temporality = temporality(int32(v.num))
		case dataMonotonic:
			m.metric.monotonic = v.num != 0
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.metric.message = f.of.byID(dataPoints).of
	return m.each(f.of, raw, func(id int, v value) error {
		if id != dataPoints {
			return nil
		}
		return m.readPoint(v.raw)
	})
}

// metricKind is the kind of a metric with data in the field id, and a point of it in words.
func metricKind(id int) (kind signal.MetricKind, what string) {
	switch id {
	case metricGauge:
		return signal.MetricGauge, "data point of a gauge"
	case metricSum:
		return signal.MetricSum, "data point of a sum"
	case metricHistogram:
		return signal.MetricHistogram, "data point of a histogram"
	case metricExponential:
		return signal.MetricExponentialHistogram, "data point of an exponential histogram"
	default:
		return signal.MetricSummary, "data point of a summary"
	}
}

func temporality(n int32) string {
	switch n {
	case 1:
		return signal.TemporalityDelta
	case 2:
		return signal.TemporalityCumulative
	default:
		return ""
	}
}

func (m *metricDecoder) readPoint(raw []byte) error {
	ok, err := m.admit(m.metric.what, len(raw))
	if !ok {
		return err
	}
	mark := m.tree.mark()
	defer m.tree.reset(mark)
	m.point.reset()
	if err := m.each(m.metric.message, raw, m.visitPoint); err != nil {
		return err
	}
	m.write()
	return nil
}

func (m *metricDecoder) write() {
	if err := m.check(); err != nil {
		m.reject(err)
		m.index++
		return
	}
	p := &m.point
	nanos := m.received(p.time)
	sample := signal.Sample{
		Name: m.metric.name, Labels: &m.labelSet,
		Value: p.value(), HasValue: p.has&(hasDouble|hasInt) != 0,
		Kind: m.metric.kind, Unit: m.metric.unit, Description: m.metric.description,
		Temporality: m.metric.temporality, Monotonic: m.metric.monotonic,
		StartNanos: int64(p.start),
		Histogram:  m.histogram(), Exemplars: p.exemplars.text(), Flags: int64(p.flags),
	}
	m.row.begin()
	if err := m.collectLabels(); err != nil {
		m.row.b.AbortRow()
		m.reject(wire.At(err, "metric %.64s", m.metric.name))
		m.index++
		return
	}
	m.builder.SetSample(&sample)
	if p.has&hasInt != 0 && signal.IsInexactInt(int64(p.number)) {
		m.row.spill([]byte("asInt"), m.shared.scalar(nodeInt, p.number, nil))
	}
	m.finish(nanos)
}

// check says why the point at hand cannot be stored; nil when it can.
func (m *metricDecoder) check() error {
	p := &m.point
	switch {
	case len(m.metric.name) == 0:
		return wire.Reject(wire.BadValue, "the metric has no name")
	case p.start > math.MaxInt64:
		return wire.Reject(wire.BadTime, "start time %d ns lies after the year 2262", p.start)
	case m.metric.message == numberPointMessage && p.has&(hasDouble|hasInt) == 0 && p.flags&flagNoRecordedValue == 0:
		return wire.Reject(wire.BadValue, "the data point has no value")
	case len(p.counts) > 0 && len(p.counts) != len(p.bounds)+1:
		return wire.Reject(wire.BadValue, "the histogram has %d bounds and %d bucket counts, one more than bounds is wanted",
			len(p.bounds), len(p.counts))
	default:
		return nil
	}
}
