package promwrite

import (
	"unicode/utf8"

	"github.com/millstream/millstream/internal/signal"
)

// metadata is what a request says of a metric. Its bytes belong to the request.
type metadata struct {
	name, help, unit []byte
	kind             uint64 // the protocol's number, the same in both versions
}

// maxHelpBytes bounds help and unit; longer ones are cut.
const maxHelpBytes = 1024

func (m *metadata) says() bool { return m.kind != 0 || len(m.help) > 0 || len(m.unit) > 0 }

// kinds are the metric kinds by the protocol's numbers, in Prometheus' words.
//
//nolint:gochecknoglobals // an immutable list
var kinds = [...]signal.MetricKind{
	"", signal.MetricCounter, signal.MetricGauge, signal.MetricHistogram, "gaugehistogram", signal.MetricSummary, "info", "stateset",
}

// addMetadata writes a row that describes a metric: without labels and value, at the time of receipt. What cannot be stored is left out.
// Once a request is enough: other series of the metric repeat it.
func (w *writer) addMetadata(m metadata) error {
	if len(m.name) == 0 || len(m.name) > signal.MaxNameBytes || !utf8.Valid(m.name) || w.described[string(m.name)] {
		return nil
	}
	if w.described == nil {
		w.described = make(map[string]bool)
	}
	w.described[string(m.name)] = true
	s := signal.Sample{
		Name: m.name, Labels: &w.noLabels, Nanos: w.window.Received(), Description: cut(m.help), Unit: cut(m.unit),
	}
	if m.kind < uint64(len(kinds)) {
		s.Kind = kinds[m.kind]
		s.Monotonic = s.Kind == signal.MetricCounter
	}
	if s.Kind == "" {
		s.Kind = signal.MetricUntyped
	}
	if err := w.chunk.Room(len(m.name)+len(s.Description)+len(s.Unit), w.rows); err != nil {
		return err
	}
	w.builder.Append(&s)
	return nil
}

// cut shortens a text to maxHelpBytes, between two runes.
func cut(text []byte) []byte {
	if len(text) <= maxHelpBytes {
		return text
	}
	n := maxHelpBytes
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
