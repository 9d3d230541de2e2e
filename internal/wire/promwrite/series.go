package promwrite

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
)

// Bounds of a series.
const (
	MaxLabels     = 256     // labels, the metric's name not counted
	MaxLabelBytes = 1 << 16 // names and values of all labels together
)

const nameLabel = "__name__"

// series is one series of a request. Its bytes belong to the request.
type series struct {
	name        []byte
	labels      signal.LabelSet
	labelsJSON  []byte // stored form of labels
	scratch     []byte // its memory, unless the set is known
	known       bool   // name and labelsJSON are a known set's, and labels is not filled
	size        int    // bytes of name and labels
	samples     []span // messages
	histograms  []span
	exemplars   []span
	metadata    metadata
	startMillis int64
	err         error // why all of it is refused
}

type span = []byte

func (s *series) reset() {
	s.labels.Reset()
	*s = series{
		labels: s.labels, scratch: s.scratch[:0], samples: s.samples[:0], histograms: s.histograms[:0], exemplars: s.exemplars[:0],
	}
}

// fail notes the first reason to refuse the series; nil is none.
func (s *series) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// keep notes a message of the series for later.
func (s *series) keep(list *[]span, f *field) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	*list = append(*list, f.raw)
	return nil
}

// addLabel checks and adds a label.
func (s *series) addLabel(name, value []byte) {
	s.size += len(name) + len(value)
	switch {
	case s.err != nil:
	case s.size > MaxLabelBytes:
		s.fail(wire.Reject(wire.BadLabels, "the labels have more than %d bytes", MaxLabelBytes))
	case !utf8.Valid(name), len(name) == 0:
		s.fail(wire.Reject(wire.BadLabels, "label name %.64q is empty or not UTF-8", name))
	case !utf8.Valid(value):
		s.fail(wire.Reject(wire.BadLabels, "the value of label %.64q is not UTF-8", name))
	case string(name) == nameLabel:
		s.setName(value)
	case len(value) == 0: // no label
	case s.labels.Len() == MaxLabels:
		s.fail(wire.Reject(wire.BadLabels, "the series has more than %d labels", MaxLabels))
	case !s.labels.Add(name, value):
		s.fail(wire.Reject(wire.BadLabels, "label %.64q is there twice", name))
	}
}

func (s *series) setName(value []byte) {
	switch {
	case s.name != nil:
		s.fail(wire.Reject(wire.BadLabels, "label %q is there twice", nameLabel))
	case len(value) > signal.MaxNameBytes:
		s.fail(wire.Reject(wire.BadLabels, "the metric's name %.64q is longer than %d bytes", value, signal.MaxNameBytes))
	default:
		s.name = value
	}
}

// check refuses a series without a name and fixes its labels' stored form.
func (s *series) check(opts wire.Options) {
	if s.known {
		return
	}
	if len(s.name) == 0 {
		s.fail(wire.Reject(wire.BadLabels, "the series has no metric name"))
	}
	s.fail(opts.CheckLabels(&s.labels))
	s.scratch = s.labels.AppendJSON(s.scratch)
	s.labelsJSON = s.scratch
}

// use takes name and labels from a known set.
func (s *series) use(set *knownSet) { s.known, s.name, s.labelsJSON = true, set.name, set.json }

// set returns the checked name and labels for later requests.
func (s *series) set() *knownSet {
	set := &knownSet{name: bytes.Clone(s.name), json: bytes.Clone(s.labelsJSON), labels: s.labels.Len()}
	for i := range s.labels.Len() {
		name, value := s.labels.At(i)
		set.longestName, set.longestValue = max(set.longestName, len(name)), max(set.longestValue, len(value))
	}
	return set
}

// describe puts the series in front of a reason.
func (s *series) describe(err error) error {
	if _, ok := errors.AsType[*wire.Rejection](err); !ok {
		err = wire.Reject(wire.BadValue, "%s", err)
	}
	return wire.At(err, "series %.64s%.200s", s.name, s.labelsJSON)
}
