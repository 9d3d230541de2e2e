package promwrite

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/millstream/millstream/internal/signal"
)

// maxExemplarBytes bounds the labels of one exemplar, far above OpenMetrics' 128 characters.
const maxExemplarBytes = 4096

// exemplar is one exemplar of a series.
type exemplar struct {
	value  float64
	millis int64
	labels signal.LabelSet
	size   int
	err    error // why it is left out
}

func (e *exemplar) reset() {
	e.labels.Reset()
	*e = exemplar{labels: e.labels}
}

func (e *exemplar) addLabel(name, value []byte) {
	e.size += len(name) + len(value)
	if utf8.Valid(name) && utf8.Valid(value) && e.size <= maxExemplarBytes {
		e.labels.Add(name, value)
	}
}

// readExemplars makes the value of signal.ExemplarsColumn of the series' exemplars and returns their number. One that cannot be kept is
// left out, as Prometheus does.
func (w *writer) readExemplars(read func([]byte, *exemplar) error) (kept int, err error) {
	w.exemplars = w.exemplars[:0]
	for _, message := range w.series.exemplars {
		e := &w.exemplar
		e.reset()
		if err := read(message, e); err != nil {
			return 0, err
		}
		if e.err != nil || e.size > maxExemplarBytes || w.checkTime(e.millis) != nil {
			continue
		}
		separator := byte(',')
		if kept == 0 {
			separator = '['
		}
		w.exemplars = e.appendJSON(append(w.exemplars, separator))
		kept++
	}
	if kept > 0 {
		w.exemplars = append(w.exemplars, ']')
	}
	return kept, nil
}

// appendJSON appends the exemplar in the form that those of OTLP have.
func (e *exemplar) appendJSON(dst []byte) []byte {
	dst = append(dst, `{"timeUnixNano":"`...)
	dst = strconv.AppendInt(dst, e.millis*nanosPerMilli, 10)
	dst = append(dst, `","asDouble":`...)
	switch {
	case math.IsNaN(e.value):
		dst = append(dst, `"NaN"`...)
	case math.IsInf(e.value, 1):
		dst = append(dst, `"+Inf"`...)
	case math.IsInf(e.value, -1):
		dst = append(dst, `"-Inf"`...)
	default:
		dst = strconv.AppendFloat(dst, e.value, 'g', -1, 64)
	}
	if e.labels.Len() > 0 {
		dst = e.labels.AppendJSON(append(dst, `,"filteredAttributes":`...))
	}
	return append(dst, '}')
}

// exemplarRow writes the exemplars as a row without a value, at the time of the last of them.
func (w *writer) exemplarRow() error {
	if err := w.chunk.Room(len(w.exemplars)+len(w.series.labelsJSON), w.rows); err != nil {
		return err
	}
	w.builder.Append(&signal.Sample{
		Name: w.series.name, Labels: &w.series.labels, Nanos: w.exemplar.millis * nanosPerMilli, Exemplars: w.exemplars,
	})
	w.exemplars = w.exemplars[:0]
	return nil
}
