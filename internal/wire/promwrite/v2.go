package promwrite

import (
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/wire"
)

// Field numbers of io.prometheus.write.v2.Request and what it holds.
const (
	v2Symbols = 4
	v2Series  = 5

	v2SeriesLabels    = 1
	v2SeriesSample    = 2
	v2SeriesHistogram = 3
	v2SeriesExemplar  = 4
	v2SeriesMetadata  = 5
	v2SeriesCreated   = 6 // of senders before the start time moved into the samples

	v2MetadataType = 1
	v2MetadataHelp = 3
	v2MetadataUnit = 4
)

type decoderV2 struct {
	w       *writer
	symbols [][]byte
	refs    []uint64
	meta    [][]byte // of the series at hand, as often as it is given
}

// request reads the symbols first: a sender may put them behind the series that use them.
func (d *decoderV2) request(body []byte) error {
	err := eachOf(body, v2Symbols, func(f field) error {
		d.symbols = append(d.symbols, f.raw)
		return nil
	})
	if err != nil {
		return err
	}
	if len(d.symbols) > 0 && len(d.symbols[0]) > 0 {
		return fault.New(fault.Invalid, "the write request is of another form: its first symbol is not empty")
	}
	return eachOf(body, v2Series, d.series)
}

func (d *decoderV2) series(f field) error {
	s := d.w.beginSeries()
	d.refs, d.meta = d.refs[:0], d.meta[:0]
	err := each(f.raw, func(f field) (err error) {
		switch f.id {
		case v2SeriesLabels:
			d.refs, err = f.appendVarints(d.refs)
		case v2SeriesSample:
			err = s.keep(&s.samples, &f)
		case v2SeriesHistogram:
			err = s.keep(&s.histograms, &f)
		case v2SeriesExemplar:
			err = s.keep(&s.exemplars, &f)
		case v2SeriesMetadata:
			var message []byte
			err = f.bytes(&message)
			d.meta = append(d.meta, message)
		case v2SeriesCreated:
			err = f.varint(&s.startMillis)
		}
		return err
	})
	if err != nil {
		return err
	}
	s.fail(d.labels(d.refs, s.addLabel))
	if err := d.metadata(s, d.meta); err != nil {
		return err
	}
	if len(s.samples)+len(s.histograms) == 0 {
		s.fail(wire.Reject(wire.BadValue, "it has neither samples nor histograms"))
	}
	return d.w.endSeries(d.exemplar)
}

// labels adds the labels of pairs of references.
func (d *decoderV2) labels(refs []uint64, add func(name, value []byte)) error {
	if len(refs)%2 != 0 {
		return wire.Reject(wire.BadLabels, "an odd number of label references")
	}
	for i := 0; i < len(refs); i += 2 {
		name, err := d.symbol(refs[i])
		if err != nil {
			return err
		}
		value, err := d.symbol(refs[i+1])
		if err != nil {
			return err
		}
		add(name, value)
	}
	return nil
}

func (d *decoderV2) symbol(ref uint64) ([]byte, error) {
	if ref >= uint64(len(d.symbols)) {
		return nil, wire.Reject(wire.BadLabels, "a reference to symbol %d of %d", ref, len(d.symbols))
	}
	return d.symbols[ref], nil
}

func (d *decoderV2) exemplar(message []byte, e *exemplar) error {
	d.refs = d.refs[:0]
	err := each(message, func(f field) (err error) {
		switch f.id {
		case exemplarLabels:
			d.refs, err = f.appendVarints(d.refs)
		case exemplarValue:
			err = f.double(&e.value)
		case exemplarTime:
			err = f.varint(&e.millis)
		}
		return err
	})
	if err != nil {
		return err
	}
	e.err = d.labels(d.refs, e.addLabel)
	return nil
}

// metadata notes what a series says of its metric. Bad references refuse the series. Of a field that is given several times the last one
// counts, also over several messages, which protobuf merges.
func (d *decoderV2) metadata(s *series, messages [][]byte) error {
	s.metadata = metadata{name: s.name}
	for _, message := range messages {
		err := each(message, func(f field) error { return d.metadataField(s, f) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *decoderV2) metadataField(s *series, f field) (err error) {
	var ref uint64
	var bad error
	m := &s.metadata
	switch f.id {
	case v2MetadataType:
		err = f.unsigned(&m.kind)
	case v2MetadataHelp:
		err = f.unsigned(&ref)
		m.help, bad = d.symbol(ref)
	case v2MetadataUnit:
		err = f.unsigned(&ref)
		m.unit, bad = d.symbol(ref)
	}
	if err == nil {
		s.fail(bad)
	}
	return err
}
