package nativehist

import (
	"bytes"
	"math"
	"strconv"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/valyala/fastjson"

	"github.com/millstream/millstream/internal/fault"
)

// IsNative reports whether a value of signal.HistogramColumn has the form of this package.
func IsNative(text []byte) bool { return bytes.Contains(text, []byte(`"`+schemaKey+`":`)) }

// Parser reads stored histograms. Its zero value is ready; it serves one goroutine.
type Parser struct {
	json   fastjson.Parser
	number []byte
	err    error
}

// Parse returns a stored histogram in the one form that it has; the other result is nil. Text that is no stored histogram is
// fault.Corrupt.
func (p *Parser) Parse(text []byte) (*histogram.Histogram, *histogram.FloatHistogram, error) {
	v, err := p.json.ParseBytes(text)
	if err != nil {
		return nil, nil, fault.Wrap(fault.Corrupt, err, "stored histogram")
	}
	p.err = nil
	if v.GetBool("float") {
		h := p.float(v)
		return nil, h, p.err
	}
	h := p.integer(v)
	return h, nil, p.err
}

func (p *Parser) integer(v *fastjson.Value) *histogram.Histogram {
	return &histogram.Histogram{
		CounterResetHint: hintOf(v),
		Schema:           int32(v.GetInt(schemaKey)),
		ZeroThreshold:    p.floatOf(v.Get("zeroThreshold")),
		ZeroCount:        v.GetUint64("zeroCount"),
		Count:            v.GetUint64("count"),
		Sum:              p.floatOf(v.Get("sum")),
		PositiveSpans:    spansOf(v.GetArray("positiveSpans")),
		NegativeSpans:    spansOf(v.GetArray("negativeSpans")),
		PositiveBuckets:  deltasOf(v.GetArray("positiveCounts")),
		NegativeBuckets:  deltasOf(v.GetArray("negativeCounts")),
		CustomValues:     p.floatsOf(v.GetArray("customValues")),
	}
}

func (p *Parser) float(v *fastjson.Value) *histogram.FloatHistogram {
	return &histogram.FloatHistogram{
		CounterResetHint: hintOf(v),
		Schema:           int32(v.GetInt(schemaKey)),
		ZeroThreshold:    p.floatOf(v.Get("zeroThreshold")),
		ZeroCount:        p.floatOf(v.Get("zeroCount")),
		Count:            p.floatOf(v.Get("count")),
		Sum:              p.floatOf(v.Get("sum")),
		PositiveSpans:    spansOf(v.GetArray("positiveSpans")),
		NegativeSpans:    spansOf(v.GetArray("negativeSpans")),
		PositiveBuckets:  p.floatsOf(v.GetArray("positiveCounts")),
		NegativeBuckets:  p.floatsOf(v.GetArray("negativeCounts")),
		CustomValues:     p.floatsOf(v.GetArray("customValues")),
	}
}

// floatOf reads a number by strconv, since fastjson's own reading is not exact to the last bit.
func (p *Parser) floatOf(v *fastjson.Value) float64 {
	if v == nil {
		return 0
	}
	if v.Type() == fastjson.TypeString {
		text, _ := v.StringBytes()
		return p.special(string(text))
	}
	p.number = v.MarshalTo(p.number[:0])
	f, err := strconv.ParseFloat(string(p.number), 64)
	if err != nil && p.err == nil {
		p.err = fault.Wrap(fault.Corrupt, err, "stored histogram")
	}
	return f
}

func (p *Parser) special(text string) float64 {
	switch text {
	case staleText:
		return math.Float64frombits(value.StaleNaN)
	case "NaN":
		return math.Float64frombits(value.NormalNaN)
	case "+Inf":
		return math.Inf(1)
	case "-Inf":
		return math.Inf(-1)
	default:
		if p.err == nil {
			p.err = fault.New(fault.Corrupt, "stored histogram: %.16q is no number", text)
		}
		return 0
	}
}

func (p *Parser) floatsOf(list []*fastjson.Value) []float64 {
	if len(list) == 0 {
		return nil
	}
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = p.floatOf(v)
	}
	return out
}

func spansOf(list []*fastjson.Value) []histogram.Span {
	if len(list) < 2 {
		return nil
	}
	out := make([]histogram.Span, len(list)/2)
	for i := range out {
		out[i] = histogram.Span{Offset: int32(list[2*i].GetInt()), Length: uint32(list[2*i+1].GetUint())}
	}
	return out
}

func deltasOf(list []*fastjson.Value) []int64 {
	if len(list) == 0 {
		return nil
	}
	out := make([]int64, len(list))
	var last int64
	for i, v := range list {
		count := v.GetInt64()
		out[i] = count - last
		last = count
	}
	return out
}

func hintOf(v *fastjson.Value) histogram.CounterResetHint {
	switch string(v.GetStringBytes("resetHint")) {
	case "reset":
		return histogram.CounterReset
	case "not_reset":
		return histogram.NotCounterReset
	case "gauge":
		return histogram.GaugeType
	default:
		return histogram.UnknownCounterReset
	}
}
