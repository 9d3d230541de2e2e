package promstore

import (
	"math"
	"strconv"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/valyala/fastjson"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire/nativehist"
)

// otlpRow is the sample of one row of OTLP.
type otlpRow struct {
	millis, start int64
	value         float64
	hasValue      bool
	noValue       bool // signal.FlagNoValue
	histogram     []byte
}

// row adds what a row becomes.
func (t *otlpTranslator) row(m otlpMetric, r *otlpRow) error {
	x, err := t.target(m)
	if err != nil || x == nil {
		return err
	}
	t.add(x.info, r.millis, 1, nil, 0)
	switch {
	case len(r.histogram) > 0 && x.kind == signal.MetricExponentialHistogram:
		return t.exponential(x, r)
	case len(r.histogram) > 0:
		return t.parts(x, r)
	case r.noValue:
		t.add(x.single, r.millis, staleMarker(), nil, r.start)
	case r.hasValue:
		t.add(x.single, r.millis, r.value, nil, r.start)
	}
	return nil
}

// pointParser reads stored points of OTLP (docs/protocol/otlp.md).
type pointParser struct {
	json fastjson.Parser
	text []byte
}

// parts adds the series of a histogram with bounds or of a summary.
func (t *otlpTranslator) parts(x *otlpTarget, r *otlpRow) error {
	v, err := t.points.json.ParseBytes(r.histogram)
	if err != nil {
		return fault.Wrap(fault.Corrupt, err, "stored histogram")
	}
	add := func(suffix, label, labelValue string, value float64) error {
		if r.noValue {
			value = staleMarker()
		}
		t.add(t.part(x, suffix, label, labelValue), r.millis, value, nil, r.start)
		return t.failed
	}
	count := float64(v.GetUint64("count"))
	if err := add("_count", "", "", count); err != nil {
		return err
	}
	if sum := v.Get("sum"); sum != nil {
		if err := add("_sum", "", "", t.points.float(sum)); err != nil {
			return err
		}
	}
	if x.kind == signal.MetricSummary {
		for _, q := range v.GetArray("quantileValues") {
			quantile := strconv.FormatFloat(t.points.float(q.Get("quantile")), 'f', -1, 64)
			if err := add("", "quantile", quantile, t.points.float(q.Get("value"))); err != nil {
				return err
			}
		}
		return nil
	}
	cumulative := uint64(0)
	counts := v.GetArray("bucketCounts")
	for i, bound := range v.GetArray("explicitBounds") {
		if i >= len(counts) {
			break
		}
		cumulative += counts[i].GetUint64()
		le := t.points.float(bound)
		if math.IsInf(le, 1) {
			continue // count is that bucket
		}
		if err := add("_bucket", "le", strconv.FormatFloat(le, 'f', -1, 64), float64(cumulative)); err != nil {
			return err
		}
	}
	return add("_bucket", "le", "+Inf", count)
}

// float reads a number exactly, or one of the texts that stand for what JSON has no number for.
func (p *pointParser) float(v *fastjson.Value) float64 {
	if v == nil {
		return 0
	}
	if v.Type() == fastjson.TypeString {
		p.text = append(p.text[:0], v.GetStringBytes()...)
	} else {
		p.text = v.MarshalTo(p.text[:0])
	}
	f, err := strconv.ParseFloat(string(p.text), 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// exponential adds an exponential histogram as a native one.
func (t *otlpTranslator) exponential(x *otlpTarget, r *otlpRow) error {
	if x.single == nil {
		return nil
	}
	if r.noValue {
		t.add(x.single, r.millis, staleMarker(), nil, r.start)
		return nil
	}
	v, err := t.points.json.ParseBytes(r.histogram)
	if err != nil {
		return fault.Wrap(fault.Corrupt, err, "stored histogram")
	}
	h := &histogram.Histogram{
		Count: v.GetUint64("count"), Sum: t.points.float(v.Get("sum")), ZeroCount: v.GetUint64("zeroCount"),
		ZeroThreshold: t.points.float(v.Get("zeroThreshold")), Schema: int32(v.GetInt("scale")),
	}
	if h.ZeroThreshold == 0 {
		h.ZeroThreshold = defaultZeroThreshold
	}
	if h.Schema < histogram.ExponentialSchemaMin {
		return nil // coarser than any native histogram: SQL has it
	}
	down := max(0, h.Schema-histogram.ExponentialSchemaMax)
	h.Schema -= down
	h.PositiveSpans, h.PositiveBuckets = nativeBuckets(v.Get("positive"), int(down))
	h.NegativeSpans, h.NegativeBuckets = nativeBuckets(v.Get("negative"), int(down))
	t.add(x.single, r.millis, 0, nativehist.Append(nil, h), r.start)
	return nil
}

// defaultZeroThreshold is what Prometheus takes for the width of the zero bucket when a sender does not tell.
const defaultZeroThreshold = 1e-128

// nativeBuckets converts buckets of OTLP, of which 2^down become one. OTLP counts a bucket by its lower bound, Prometheus by its upper.
func nativeBuckets(v *fastjson.Value, down int) ([]histogram.Span, []int64) {
	counts := v.GetArray("bucketCounts")
	if len(counts) == 0 {
		return nil, nil
	}
	offset := v.GetInt("offset")
	first, last := offset>>down, (offset+len(counts)-1)>>down
	absolute := make([]int64, last-first+1)
	for i, c := range counts {
		absolute[(offset+i)>>down-first] += int64(c.GetUint64())
	}
	deltas := make([]int64, len(absolute))
	before := int64(0)
	for i, n := range absolute {
		deltas[i], before = n-before, n
	}
	return []histogram.Span{{Offset: int32(first + 1), Length: uint32(len(deltas))}}, deltas
}
