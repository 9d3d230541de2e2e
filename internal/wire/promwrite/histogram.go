package promwrite

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/nativehist"
)

// Fields of a histogram, the same in both versions.
const (
	histogramCountInt       = 1
	histogramCountFloat     = 2
	histogramSum            = 3
	histogramSchema         = 4
	histogramZeroThreshold  = 5
	histogramZeroCountInt   = 6
	histogramZeroCountFloat = 7
	histogramNegativeSpans  = 8
	histogramNegativeDeltas = 9
	histogramNegativeCounts = 10
	histogramPositiveSpans  = 11
	histogramPositiveDeltas = 12
	histogramPositiveCounts = 13
	histogramResetHint      = 14
	histogramTime           = 15
	histogramCustomValues   = 16
	histogramStart          = 17 // of version 2

	spanOffset = 1
	spanLength = 2
)

// histogramReader reads one histogram after the other.
type histogramReader struct {
	millis, startMillis int64
	text                []byte // the stored form
	refused             error  // why it cannot be stored

	version Version
	isFloat bool
	integer histogram.Histogram
	float   histogram.FloatHistogram
	words   []uint64
}

// read reads a message and fills in text or refused. The error is that of a body which is not of the protocol's form.
func (h *histogramReader) read(message []byte, version Version, startMillis int64) error {
	*h = histogramReader{text: h.text[:0], words: h.words, version: version, startMillis: startMillis}
	if err := each(message, func(f field) error { return h.field(&f) }); err != nil {
		return err
	}
	h.finish()
	return nil
}

func (h *histogramReader) field(f *field) (err error) {
	n, x := &h.integer, &h.float
	switch f.id {
	case histogramCountInt:
		err = f.unsigned(&n.Count)
		h.isFloat = false // of a oneof the last counts
	case histogramCountFloat:
		h.isFloat = true
		err = f.double(&x.Count)
	case histogramSum:
		err = f.double(&n.Sum)
	case histogramSchema:
		n.Schema = int32(protowire.DecodeZigZag(f.num & math.MaxUint32))
		err = f.want(protowire.VarintType)
	case histogramZeroThreshold:
		err = f.double(&n.ZeroThreshold)
	case histogramZeroCountInt:
		err = f.unsigned(&n.ZeroCount)
	case histogramZeroCountFloat:
		err = f.double(&x.ZeroCount)
	case histogramNegativeSpans:
		n.NegativeSpans, err = appendSpan(n.NegativeSpans, f)
	case histogramPositiveSpans:
		n.PositiveSpans, err = appendSpan(n.PositiveSpans, f)
	case histogramNegativeDeltas:
		n.NegativeBuckets, err = h.appendDeltas(n.NegativeBuckets, f)
	case histogramPositiveDeltas:
		n.PositiveBuckets, err = h.appendDeltas(n.PositiveBuckets, f)
	case histogramNegativeCounts:
		x.NegativeBuckets, err = f.appendFloats(x.NegativeBuckets)
	case histogramPositiveCounts:
		x.PositiveBuckets, err = f.appendFloats(x.PositiveBuckets)
	case histogramResetHint:
		n.CounterResetHint = histogram.CounterResetHint(min(f.num, uint64(histogram.GaugeType)))
		err = f.want(protowire.VarintType)
	case histogramTime:
		err = f.varint(&h.millis)
	case histogramCustomValues:
		n.CustomValues, err = f.appendFloats(n.CustomValues)
	case histogramStart:
		if h.version == V2 {
			err = f.varint(&h.startMillis)
		}
	}
	return err
}

func appendSpan(dst []histogram.Span, f *field) ([]histogram.Span, error) {
	if err := f.want(protowire.BytesType); err != nil {
		return dst, err
	}
	var s histogram.Span
	err := each(f.raw, func(f field) (err error) {
		switch f.id {
		case spanOffset:
			s.Offset = int32(protowire.DecodeZigZag(f.num & math.MaxUint32))
			err = f.want(protowire.VarintType)
		case spanLength:
			s.Length = uint32(f.num)
			err = f.want(protowire.VarintType)
		}
		return err
	})
	if err != nil {
		return dst, err
	}
	return append(dst, s), nil
}

func (h *histogramReader) appendDeltas(dst []int64, f *field) ([]int64, error) {
	var err error
	h.words, err = f.appendVarints(h.words[:0])
	for _, v := range h.words {
		dst = append(dst, protowire.DecodeZigZag(v))
	}
	return dst, err
}

// finish checks the histogram by Prometheus' rules and brings it into the stored form. A staleness marker has nothing to check.
func (h *histogramReader) finish() {
	if h.isFloat {
		n, x := &h.integer, &h.float
		x.Sum, x.Schema, x.ZeroThreshold, x.CounterResetHint = n.Sum, n.Schema, n.ZeroThreshold, n.CounterResetHint
		x.PositiveSpans, x.NegativeSpans, x.CustomValues = n.PositiveSpans, n.NegativeSpans, n.CustomValues
		if err := x.Validate(); err != nil && !value.IsStaleNaN(x.Sum) {
			h.refused = wire.Reject(wire.BadValue, "histogram: %s", err)
		}
		h.text = nativehist.AppendFloat(h.text, x)
		return
	}
	if err := h.integer.Validate(); err != nil && !value.IsStaleNaN(h.integer.Sum) {
		h.refused = wire.Reject(wire.BadValue, "histogram: %s", err)
	}
	h.text = nativehist.Append(h.text, &h.integer)
}
