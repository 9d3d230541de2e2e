package otlp

import (
	"math"

	"github.com/millstream/millstream/internal/signal"
)

// flagNoRecordedValue is the bit of a point's flags that says: the source was looked at and has no value now.
const flagNoRecordedValue = 1

// Bits of point.has.
const (
	hasDouble = 1 << iota
	hasInt
	hasSum
	hasMin
	hasMax
	hasPositive
	hasNegative
)

// point is a data point of any kind. Doubles are kept as their bits. Its memory is used again.
type point struct {
	attributes         list
	start, time, flags uint64
	has                uint
	number             uint64 // asDouble or asInt, the later one
	count              uint64
	sum, min, max      uint64
	counts, bounds     []uint64
	scale              int64
	zeroCount          uint64
	zeroThreshold      uint64
	positive, negative buckets
	quantiles          []uint64 // quantile, value, quantile, value, …
	exemplars          jsonArray
	text               []byte // the histogram as JSON
}

// buckets are one side of an exponential histogram.
type buckets struct {
	offset int64
	counts []uint64
}

func (p *point) reset() {
	*p = point{
		counts: p.counts[:0], bounds: p.bounds[:0], quantiles: p.quantiles[:0], text: p.text[:0],
		positive: buckets{counts: p.positive.counts[:0]}, negative: buckets{counts: p.negative.counts[:0]},
		exemplars: jsonArray{p.exemplars.buf[:0]},
	}
}

// value returns the value of a number point.
func (p *point) value() float64 {
	if p.has&hasInt != 0 {
		return float64(int64(p.number))
	}
	return math.Float64frombits(p.number)
}

// pointField takes a field of a data point of any kind.
func (m *metricDecoder) pointField(id int, v value) error {
	p := &m.point
	switch id {
	case pointAttributes:
		return m.keyValue(&p.attributes, v.raw)
	case pointStart:
		p.start = v.num
	case pointTime:
		p.time = v.num
	case pointFlags:
		p.flags = v.num
	case pointAsDouble:
		p.number, p.has = v.num, p.has&^hasInt|hasDouble
	case pointAsInt:
		p.number, p.has = v.num, p.has&^hasDouble|hasInt
	case pointExemplars:
		return m.exemplar(v.raw)
	default:
		return m.histogramField(id, v)
	}
	return nil
}

// histogramField takes a field of a histogram, an exponential histogram or a summary.
func (m *metricDecoder) histogramField(id int, v value) error {
	p := &m.point
	switch id {
	case pointCount:
		p.count = v.num
	case pointSum:
		p.sum, p.has = v.num, p.has|hasSum
	case pointMin:
		p.min, p.has = v.num, p.has|hasMin
	case pointMax:
		p.max, p.has = v.num, p.has|hasMax
	case pointBucketCounts:
		p.counts = append(p.counts, v.num)
	case pointBounds:
		p.bounds = append(p.bounds, v.num)
	case pointScale:
		p.scale = int64(v.num)
	case pointZeroCount:
		p.zeroCount = v.num
	case pointZeroThreshold:
		p.zeroThreshold = v.num
	case pointPositive:
		p.has |= hasPositive
		return m.buckets(&p.positive, v.raw)
	case pointNegative:
		p.has |= hasNegative
		return m.buckets(&p.negative, v.raw)
	case pointQuantiles:
		return m.quantile(v.raw)
	}
	return nil
}

func (m *metricDecoder) buckets(b *buckets, raw []byte) error {
	return m.each(bucketsMessage, raw, func(id int, v value) error {
		if id == bucketsOffset {
			b.offset = int64(v.num)
			return nil
		}
		b.counts = append(b.counts, v.num)
		return nil
	})
}

func (m *metricDecoder) quantile(raw []byte) error {
	var quantile, at uint64
	err := m.each(quantileMessage, raw, func(id int, v value) error {
		if id == quantileQuantile {
			quantile = v.num
		} else {
			at = v.num
		}
		return nil
	})
	m.point.quantiles = append(m.point.quantiles, quantile, at)
	return err
}

// exemplar adds an exemplar to the point's array.
func (m *metricDecoder) exemplar(raw []byte) error {
	var (
		attributes      list
		time, number    uint64
		has             uint
		traceID, spanID []byte
	)
	err := m.each(exemplarMessage, raw, func(id int, v value) error {
		switch id {
		case exemplarTime:
			time = v.num
		case exemplarAsDouble:
			number, has = v.num, hasDouble
		case exemplarAsInt:
			number, has = v.num, hasInt
		case exemplarTraceID:
			traceID = v.raw
		case exemplarSpanID:
			spanID = v.raw
		case exemplarAttributes:
			return m.keyValue(&attributes, v.raw)
		}
		return nil
	})
	if err != nil {
		return err
	}
	o := m.point.exemplars.begin()
	o.nanos("timeUnixNano", time)
	switch has {
	case hasDouble:
		o.double("asDouble", number)
	case hasInt:
		o.int("asInt", int64(number))
	}
	o.id("traceId", traceID)
	o.id("spanId", spanID)
	o.attributes("filteredAttributes", m.tree, attributes)
	o.end()
	return nil
}

// histogram returns the point as the JSON object of signal.HistogramColumn, or nil for a number. Names are those of OTLP/JSON;
// counts are numbers with all their digits.
func (m *metricDecoder) histogram() []byte {
	p := &m.point
	if m.metric.message == numberPointMessage {
		return nil
	}
	p.text = append(p.text[:0], '{')
	o := jsonObject{&p.text}
	o.uint("count", p.count)
	for _, f := range [...]struct {
		bit  uint
		name string
		bits uint64
	}{{hasSum, "sum", p.sum}, {hasMin, "min", p.min}, {hasMax, "max", p.max}} {
		if p.has&f.bit != 0 {
			o.double(f.name, f.bits)
		}
	}
	switch m.metric.kind {
	case signal.MetricHistogram:
		o.doubles("explicitBounds", p.bounds)
		o.uints("bucketCounts", p.counts)
	case signal.MetricExponentialHistogram:
		o.int("scale", p.scale)
		o.uint("zeroCount", p.zeroCount)
		o.double("zeroThreshold", p.zeroThreshold)
		o.buckets("positive", p.has&hasPositive != 0, &p.positive)
		o.buckets("negative", p.has&hasNegative != 0, &p.negative)
	case signal.MetricSummary:
		o.quantiles("quantileValues", p.quantiles)
	default:
	}
	o.end()
	return p.text
}

func (o jsonObject) buckets(name string, has bool, b *buckets) {
	if !has {
		return
	}
	*o.buf = append(o.name(name), '{')
	o.int("offset", b.offset)
	o.uints("bucketCounts", b.counts)
	o.end()
}

func (o jsonObject) quantiles(name string, pairs []uint64) {
	*o.buf = append(o.name(name), '[')
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			*o.buf = append(*o.buf, ',')
		}
		*o.buf = append(*o.buf, '{')
		o.double("quantile", pairs[i])
		o.double("value", pairs[i+1])
		o.end()
	}
	*o.buf = append(*o.buf, ']')
}
