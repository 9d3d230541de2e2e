package nativehist

import (
	"math"
	"strconv"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
)

// Names of members that stand in more than one place of the package.
const (
	schemaKey = "schema"
	staleText = "stale"
)

// Append appends the stored form of a histogram of integers.
func Append(dst []byte, h *histogram.Histogram) []byte {
	dst = append(dst, `{"count":`...)
	dst = strconv.AppendUint(dst, h.Count, 10)
	dst = appendHead(dst, h.Sum, h.Schema, h.ZeroThreshold)
	if h.ZeroCount != 0 {
		dst = strconv.AppendUint(append(dst, `,"zeroCount":`...), h.ZeroCount, 10)
	}
	dst = appendSpans(dst, "positiveSpans", h.PositiveSpans)
	dst = appendDeltas(dst, "positiveCounts", h.PositiveBuckets)
	dst = appendSpans(dst, "negativeSpans", h.NegativeSpans)
	dst = appendDeltas(dst, "negativeCounts", h.NegativeBuckets)
	dst = appendFloats(dst, "customValues", h.CustomValues)
	return append(appendHint(dst, h.CounterResetHint), '}')
}

// AppendFloat appends the stored form of a histogram of floats.
func AppendFloat(dst []byte, h *histogram.FloatHistogram) []byte {
	dst = append(dst, `{"count":`...)
	dst = appendFloat(dst, h.Count)
	dst = appendHead(dst, h.Sum, h.Schema, h.ZeroThreshold)
	if h.ZeroCount != 0 {
		dst = appendFloat(append(dst, `,"zeroCount":`...), h.ZeroCount)
	}
	dst = appendSpans(dst, "positiveSpans", h.PositiveSpans)
	dst = appendFloats(dst, "positiveCounts", h.PositiveBuckets)
	dst = appendSpans(dst, "negativeSpans", h.NegativeSpans)
	dst = appendFloats(dst, "negativeCounts", h.NegativeBuckets)
	dst = appendFloats(dst, "customValues", h.CustomValues)
	return append(appendHint(dst, h.CounterResetHint), `,"float":true}`...)
}

func appendHead(dst []byte, sum float64, schema int32, threshold float64) []byte {
	dst = append(dst, `,"sum":`...)
	if value.IsStaleNaN(sum) {
		dst = append(dst, `"`+staleText+`"`...)
	} else {
		dst = appendFloat(dst, sum)
	}
	dst = strconv.AppendInt(append(dst, `,"`+schemaKey+`":`...), int64(schema), 10)
	if threshold != 0 {
		dst = appendFloat(append(dst, `,"zeroThreshold":`...), threshold)
	}
	return dst
}

func appendKey(dst []byte, name string) []byte {
	return append(append(append(dst, ',', '"'), name...), '"', ':', '[')
}

func appendSpans(dst []byte, name string, spans []histogram.Span) []byte {
	if len(spans) == 0 {
		return dst
	}
	dst = appendKey(dst, name)
	for i, s := range spans {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(s.Offset), 10)
		dst = strconv.AppendUint(append(dst, ','), uint64(s.Length), 10)
	}
	return append(dst, ']')
}

func appendDeltas(dst []byte, name string, deltas []int64) []byte {
	if len(deltas) == 0 {
		return dst
	}
	dst = appendKey(dst, name)
	var count int64
	for i, d := range deltas {
		if i > 0 {
			dst = append(dst, ',')
		}
		count += d
		dst = strconv.AppendInt(dst, count, 10)
	}
	return append(dst, ']')
}

func appendFloats(dst []byte, name string, values []float64) []byte {
	if len(values) == 0 {
		return dst
	}
	dst = appendKey(dst, name)
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendFloat(dst, v)
	}
	return append(dst, ']')
}

func appendFloat(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"+Inf"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Inf"`...)
	default:
		return strconv.AppendFloat(dst, v, 'g', -1, 64)
	}
}

func appendHint(dst []byte, hint histogram.CounterResetHint) []byte {
	name := ""
	switch hint {
	case histogram.CounterReset:
		name = "reset"
	case histogram.NotCounterReset:
		name = "not_reset"
	case histogram.GaugeType:
		name = "gauge"
	case histogram.UnknownCounterReset:
		return dst
	}
	return append(append(append(dst, `,"resetHint":"`...), name...), '"')
}
