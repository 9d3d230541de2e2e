package promstore

import (
	"unsafe"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"

	"github.com/millstream/millstream/internal/wire/nativehist"
)

// parsedHistogram is a histogram in the one form that it has.
type parsedHistogram struct {
	text    []byte
	integer *histogram.Histogram
	float   *histogram.FloatHistogram
	hint    histogram.CounterResetHint // as sent
}

// histogramReader reads the histograms of a series one after the other. It remembers the last one, which mostly stands before the next.
type histogramReader struct {
	parser nativehist.Parser
	last   parsedHistogram
}

func (r *histogramReader) reset() { r.last = parsedHistogram{} }

// read returns a histogram whose hint says what is known here of a counter reset since the one before, whose stored form before is, nil
// when there is none. A sender's hints do not hold among the samples that are left here, except that a histogram is a gauge.
func (r *histogramReader) read(text, before []byte) (parsedHistogram, error) {
	if same(text, r.last.text) {
		return r.last, nil
	}
	h, err := r.parse(text)
	if err != nil {
		return parsedHistogram{}, err
	}
	hint := histogram.UnknownCounterReset
	switch {
	case h.hint == histogram.GaugeType:
		hint = histogram.GaugeType
	case h.hint == histogram.CounterReset || before == nil:
	default:
		previous := r.last
		if !same(before, previous.text) {
			if previous, err = r.parse(before); err != nil {
				return parsedHistogram{}, err
			}
		}
		if follows(&previous, &h) {
			hint = histogram.NotCounterReset
		}
	}
	if h.integer != nil {
		h.integer.CounterResetHint = hint
	} else {
		h.float.CounterResetHint = hint
	}
	r.last = h
	return h, nil
}

func (r *histogramReader) parse(text []byte) (parsedHistogram, error) {
	h := parsedHistogram{text: text}
	var err error
	h.integer, h.float, err = r.parser.Parse(text)
	switch {
	case err != nil:
	case h.integer != nil:
		h.hint, h.integer.CounterResetHint = h.integer.CounterResetHint, histogram.UnknownCounterReset
	default:
		h.hint, h.float.CounterResetHint = h.float.CounterResetHint, histogram.UnknownCounterReset
	}
	return h, err
}

// same reports whether two texts are one in memory.
func same(a, b []byte) bool {
	return len(a) == len(b) && len(a) > 0 && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// follows reports whether h certainly continues the counts of previous, by the rules of Prometheus' own chunks.
func follows(previous, h *parsedHistogram) bool {
	if (previous.integer == nil) != (h.integer == nil) || previous.hint == histogram.GaugeType {
		return false
	}
	p, x := previous.float, h.float
	if h.integer != nil {
		p, x = previous.integer.ToFloat(nil), h.integer.ToFloat(nil)
	}
	switch {
	case value.IsStaleNaN(x.Sum):
		return true
	case value.IsStaleNaN(p.Sum), x.Schema != p.Schema, x.ZeroThreshold != p.ZeroThreshold:
		return false
	case histogram.IsCustomBucketsSchema(x.Schema) && !histogram.CustomBucketBoundsMatch(x.CustomValues, p.CustomValues):
		return false
	}
	x, p = x.Copy(), p.Copy()
	x.CounterResetHint, p.CounterResetHint = histogram.UnknownCounterReset, histogram.UnknownCounterReset
	return !x.DetectReset(p)
}
