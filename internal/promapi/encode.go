package promapi

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/millstream/millstream/internal/signal"
)

// maxNotes is how many warnings and infos an answer lists of each.
const maxNotes = 10

// success wraps data in the envelope. query is what positions in warnings point into.
func success(r *result, query string) Answer {
	if r == nil {
		return Answer{Status: http.StatusNoContent}
	}
	body := make([]byte, 0, len(r.data)+64)
	body = append(append(body, `{"status":"success","data":`...), r.data...)
	warnings, infos := r.warnings.AsStrings(query, maxNotes, maxNotes)
	body = appendNotes(body, `,"warnings":`, warnings)
	body = appendNotes(body, `,"infos":`, infos)
	return Answer{Status: http.StatusOK, Body: append(body, '}')}
}

func appendNotes(dst []byte, key string, notes []string) []byte {
	if len(notes) == 0 {
		return dst
	}
	return appendTexts(append(dst, key...), notes)
}

// failure wraps an error in the envelope.
func failure(err error) Answer {
	kind, text := classify(err)
	body := append([]byte(`{"status":"error","errorType":`), quote(kind.name)...)
	body = append(append(body, `,"error":`...), quote(text)...)
	return Answer{Status: kind.status, Body: append(body, '}'), Err: err}
}

// quote returns a text as JSON.
func quote(text string) string { return string(appendText(nil, text)) }

func appendText(dst []byte, text string) []byte { return signal.AppendJSONString(dst, []byte(text)) }

func appendTexts(dst []byte, texts []string) []byte {
	dst = append(dst, '[')
	for i, text := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, text)
	}
	return append(dst, ']')
}

func appendLabels(dst []byte, ls labels.Labels) []byte {
	dst = append(dst, '{')
	first := true
	ls.Range(func(l labels.Label) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendText(dst, l.Name), ':')
		dst = appendText(dst, l.Value)
	})
	return append(dst, '}')
}

// appendQuery appends the data of a query's answer.
func appendQuery(dst []byte, v parser.Value, s stats.QueryStats) []byte {
	dst = append(dst, `{"resultType":`...)
	dst = append(appendText(dst, string(v.Type())), `,"result":`...)
	dst = appendValue(dst, v)
	if s != nil {
		if text, err := json.Marshal(s); err == nil {
			dst = append(append(dst, `,"stats":`...), text...)
		}
	}
	return append(dst, '}')
}

func appendValue(dst []byte, v parser.Value) []byte {
	switch v := v.(type) {
	case promql.Vector:
		dst = append(dst, '[')
		for i := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendSample(dst, &v[i])
		}
		return append(dst, ']')
	case promql.Matrix:
		dst = append(dst, '[')
		for i := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendSeries(dst, &v[i])
		}
		return append(dst, ']')
	case promql.Scalar:
		return appendPoint(dst, v.T, v.V)
	case promql.String:
		dst = append(appendTime(append(dst, '['), v.T), ',')
		return append(appendText(dst, v.V), ']')
	default:
		return append(dst, "null"...)
	}
}

func appendSample(dst []byte, s *promql.Sample) []byte {
	dst = appendLabels(append(dst, `{"metric":`...), s.Metric)
	if s.H != nil {
		dst = append(dst, `,"histogram":`...)
		return append(appendHistogramPoint(dst, s.T, s.H), '}')
	}
	dst = append(dst, `,"value":`...)
	return append(appendPoint(dst, s.T, s.F), '}')
}

func appendSeries(dst []byte, s *promql.Series) []byte {
	dst = appendLabels(append(dst, `{"metric":`...), s.Metric)
	for i, p := range s.Floats {
		dst = append(dst, opening(i, `,"values":[`)...)
		dst = appendPoint(dst, p.T, p.F)
	}
	if len(s.Floats) > 0 {
		dst = append(dst, ']')
	}
	for i, p := range s.Histograms {
		dst = append(dst, opening(i, `,"histograms":[`)...)
		dst = appendHistogramPoint(dst, p.T, p.H)
	}
	if len(s.Histograms) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func opening(i int, key string) string {
	if i == 0 {
		return key
	}
	return ","
}

func appendPoint(dst []byte, millis int64, v float64) []byte {
	dst = append(appendTime(append(dst, '['), millis), ',')
	return append(appendFloat(dst, v), ']')
}

// appendTime appends seconds with the fraction, if there is one, in three digits.
func appendTime(dst []byte, millis int64) []byte {
	if millis < 0 {
		dst, millis = append(dst, '-'), -millis
	}
	dst = strconv.AppendInt(dst, millis/1000, 10)
	if rest := millis % 1000; rest != 0 {
		dst = append(dst, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	}
	return dst
}

// appendFloat appends a float as text in the form that Prometheus has taken over from JavaScript.
func appendFloat(dst []byte, v float64) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return append(strconv.AppendFloat(append(dst, '"'), v, format, -1, 64), '"')
}

func appendHistogramPoint(dst []byte, millis int64, h *histogram.FloatHistogram) []byte {
	dst = append(appendTime(append(dst, '['), millis), `,{"count":`...)
	dst = append(appendFloat(dst, h.Count), `,"sum":`...)
	dst = appendFloat(dst, h.Sum)
	n := 0
	for it := h.AllBucketIterator(); it.Next(); {
		b := it.At()
		if b.Count == 0 {
			continue
		}
		dst = append(dst, opening(n, `,"buckets":[`)...)
		n++
		dst = append(dst, '[', boundaryRule(b.LowerInclusive, b.UpperInclusive), ',')
		dst = append(appendFloat(dst, b.Lower), ',')
		dst = append(appendFloat(dst, b.Upper), ',')
		dst = append(appendFloat(dst, b.Count), ']')
	}
	if n > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}', ']')
}

// boundaryRule says which bounds belong to a bucket: 0 the upper, 1 the lower, 2 none, 3 both.
func boundaryRule(lower, upper bool) byte {
	switch {
	case lower && upper:
		return '3'
	case lower:
		return '1'
	case upper:
		return '0'
	default:
		return '2'
	}
}
