package promwrite

import (
	"encoding/binary"
	"math"

	"github.com/prometheus/prometheus/model/value"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
)

// writer turns series into rows.
type writer struct {
	opts    wire.Options
	version Version
	window  wire.Window
	chunk   *wire.Chunk
	result  Result
	rows    int // samples and histograms so far, refused ones included

	series    series
	exemplar  exemplar
	exemplars []byte
	histogram histogramReader
	builder   *signal.MetricBuilder
	noLabels  signal.LabelSet
	described map[string]bool // metrics whose metadata the request has told
}

func newWriter(version Version, stream signal.Stream, opts wire.Options, emit wire.Emit) *writer {
	w := &writer{version: version, opts: opts, window: opts.Window()}
	w.chunk = wire.NewChunk(stream, emit, &w.result.Result)
	w.builder = signal.NewMetricBuilder(w.chunk.Builder)
	return w
}

func (w *writer) beginSeries() *series {
	w.series.reset()
	return &w.series
}

// endSeries writes what the series holds. readExemplar reads one in the version's form. The error is emit's or that of a body that is
// not of the protocol's form.
func (w *writer) endSeries(readExemplar func([]byte, *exemplar) error) error {
	s := &w.series
	s.check(w.opts)
	if s.err != nil {
		return w.refuse()
	}
	exemplars, err := w.readExemplars(readExemplar)
	if err != nil {
		return err
	}
	last := len(s.samples) + len(s.histograms) - 1
	for i, message := range s.samples {
		if err := w.sample(message, i == last); err != nil {
			return err
		}
	}
	for i, message := range s.histograms {
		if err := w.histogramRow(message, len(s.samples)+i == last); err != nil {
			return err
		}
	}
	if len(w.exemplars) > 0 { // the row that should have taken them was refused, or there is none
		if err := w.exemplarRow(); err != nil {
			return err
		}
	}
	w.result.Exemplars += exemplars
	if s.metadata.says() {
		return w.addMetadata(s.metadata)
	}
	return nil
}

// refuse counts all of a series as refused.
func (w *writer) refuse() error {
	s := &w.series
	err := s.describe(s.err)
	for range max(1, len(s.samples)+len(s.histograms)) {
		w.result.Reject(w.rows, err)
		w.rows++
	}
	return nil
}

// sampleFields are those of a sample, the same in both versions.
const (
	sampleValue = 1
	sampleTime  = 2
	sampleStart = 3 // of version 2
)

func (w *writer) sample(message []byte, last bool) error {
	if v, millis, ok := plainSample(message); ok {
		return w.sampleRow(v, millis, w.series.startMillis, last)
	}
	var v float64
	var millis int64
	start := w.series.startMillis
	err := each(message, func(f field) (err error) {
		switch f.id {
		case sampleValue:
			err = f.double(&v)
		case sampleTime:
			err = f.varint(&millis)
		case sampleStart:
			if w.version == V2 {
				err = f.varint(&start)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	return w.sampleRow(v, millis, start, last)
}

// plainSample reads a message that is a value and a time, as most are. It is not ok for any other.
func plainSample(message []byte) (v float64, millis int64, ok bool) {
	const valueTag, timeTag, timeAt = sampleValue<<3 | 1, sampleTime << 3, 9
	if len(message) <= timeAt+1 || message[0] != valueTag || message[timeAt] != timeTag {
		return 0, 0, false
	}
	t, n := binary.Uvarint(message[timeAt+1:])
	return math.Float64frombits(binary.LittleEndian.Uint64(message[1:])), int64(t), n > 0 && timeAt+1+n == len(message)
}

// sampleRow writes the row of a sample.
func (w *writer) sampleRow(v float64, millis, start int64, last bool) error {
	ok, err := w.beginRow(millis, start, last)
	if err != nil || !ok {
		return err
	}
	b := w.chunk.Builder
	if value.IsStaleNaN(v) {
		b.SetInt64(b.OwnColumn(signal.FlagsColumn), signal.FlagNoValue)
	} else {
		b.SetFloat64(b.OwnColumn(signal.ValueColumn), v)
	}
	b.EndRow(millis * nanosPerMilli)
	w.result.Samples++
	return nil
}

func (w *writer) histogramRow(message []byte, last bool) error {
	h := &w.histogram
	if err := h.read(message, w.version, w.series.startMillis); err != nil {
		return err
	}
	if h.refused != nil {
		w.result.Reject(w.rows, w.series.describe(h.refused))
		w.rows++
		return nil
	}
	ok, err := w.beginRow(h.millis, h.startMillis, last)
	if err != nil || !ok {
		return err
	}
	b := w.chunk.Builder
	b.SetJSON(b.OwnColumn(signal.HistogramColumn), h.text)
	b.EndRow(h.millis * nanosPerMilli)
	w.result.Histograms++
	return nil
}

const (
	nanosPerMilli  = 1_000_000
	microsPerMilli = 1000
	// maxMillis is how far from 1970 a time in nanoseconds can lie: the years 1678 to 2262.
	maxMillis = math.MaxInt64/nanosPerMilli - 1
)

// beginRow opens the row of the series' next sample with all but its value. It is not ok when the sample is refused.
func (w *writer) beginRow(millis, startMillis int64, last bool) (ok bool, err error) {
	index := w.rows
	w.rows++
	if err := w.checkTime(millis); err != nil {
		w.result.Reject(index, w.series.describe(err))
		return false, nil
	}
	s := &w.series
	if err := w.chunk.Room(len(s.name)+len(s.labelsJSON)+len(w.histogram.text)+len(w.exemplars), index); err != nil {
		return false, err
	}
	b := w.chunk.Builder
	b.BeginRow()
	b.SetString(b.OwnColumn(signal.MetricColumn), s.name)
	b.SetJSON(b.OwnColumn(signal.LabelsColumn), s.labelsJSON)
	if startMillis != 0 && -maxMillis < startMillis && startMillis < maxMillis {
		b.SetTimestamp(b.OwnColumn(signal.StartColumn), startMillis*microsPerMilli)
	}
	if last && len(w.exemplars) > 0 {
		b.SetJSON(b.OwnColumn(signal.ExemplarsColumn), w.exemplars)
		w.exemplars = w.exemplars[:0]
	}
	return true, nil
}

func (w *writer) checkTime(millis int64) error {
	if millis <= -maxMillis || millis >= maxMillis {
		return wire.Reject(wire.BadTime, "the time of %d ms is none of the years 1678 to 2262", millis)
	}
	return w.window.Check(millis * nanosPerMilli)
}

// finish hands over what is left.
func (w *writer) finish() error { return w.chunk.Flush(w.rows) }
