package promwrite

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of prometheus.WriteRequest and what it holds (prompb/remote.proto, prompb/types.proto).
const (
	v1Series   = 1
	v1Metadata = 3

	v1SeriesLabel     = 1
	v1SeriesSample    = 2
	v1SeriesExemplar  = 3
	v1SeriesHistogram = 4

	v1LabelName  = 1
	v1LabelValue = 2

	v1MetadataType = 1
	v1MetadataName = 2
	v1MetadataHelp = 4
	v1MetadataUnit = 5
)

type decoderV1 struct {
	w     *writer
	known *Known
}

func (d *decoderV1) request(body []byte) error {
	return each(body, func(f field) (err error) {
		switch f.id {
		case v1Series:
			err = d.series(&f)
		case v1Metadata:
			err = d.metadata(&f)
		}
		return err
	})
}

// series reads the labels, which may stand anywhere, then the samples and histograms, then the exemplars.
func (d *decoderV1) series(f *field) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	end := labelsEnd(f.raw)
	labels, rest := f.raw[:end], f.raw[end:]
	s := d.w.beginSeries()
	elsewhere := false // more labels stand behind the first samples
	if set := d.known.get(labels); set != nil && set.passes(&d.w.opts) {
		s.use(set)
		if err := d.fields(s, rest, func(*field) error { elsewhere = true; return nil }); err != nil {
			return err
		}
		if !elsewhere {
			return d.w.endSeries(d.exemplar)
		}
		s = d.w.beginSeries()
	}
	add := func(f *field) error { return d.label(f, s.addLabel) }
	if err := d.fields(s, labels, add); err != nil {
		return err
	}
	if err := d.fields(s, rest, func(f *field) error { elsewhere = true; return add(f) }); err != nil {
		return err
	}
	err := d.w.endSeries(d.exemplar)
	if err == nil && s.err == nil && !elsewhere {
		d.known.put(labels, s.set(), false)
	}
	return err
}

// fields reads some fields of a series.
func (d *decoderV1) fields(s *series, message []byte, label func(*field) error) error {
	return each(message, func(f field) (err error) {
		switch f.id {
		case v1SeriesLabel:
			err = label(&f)
		case v1SeriesSample:
			err = s.keep(&s.samples, &f)
		case v1SeriesHistogram:
			err = s.keep(&s.histograms, &f)
		case v1SeriesExemplar:
			err = s.keep(&s.exemplars, &f)
		}
		return err
	})
}

func (d *decoderV1) label(f *field, add func(name, value []byte)) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	var name, value []byte
	err := each(f.raw, func(f field) (err error) {
		switch f.id {
		case v1LabelName:
			err = f.bytes(&name)
		case v1LabelValue:
			err = f.bytes(&value)
		}
		return err
	})
	if err != nil {
		return err
	}
	add(name, value)
	return nil
}

// Fields of an exemplar, the same in both versions but for the form of its labels.
const (
	exemplarLabels = 1
	exemplarValue  = 2
	exemplarTime   = 3
)

func (d *decoderV1) exemplar(message []byte, e *exemplar) error {
	return each(message, func(f field) (err error) {
		switch f.id {
		case exemplarLabels:
			err = d.label(&f, e.addLabel)
		case exemplarValue:
			err = f.double(&e.value)
		case exemplarTime:
			err = f.varint(&e.millis)
		}
		return err
	})
}

func (d *decoderV1) metadata(f *field) error {
	if err := f.want(protowire.BytesType); err != nil {
		return err
	}
	var m metadata
	err := each(f.raw, func(f field) (err error) {
		switch f.id {
		case v1MetadataType:
			err = f.unsigned(&m.kind)
		case v1MetadataName:
			err = f.bytes(&m.name)
		case v1MetadataHelp:
			err = f.bytes(&m.help)
		case v1MetadataUnit:
			err = f.bytes(&m.unit)
		}
		return err
	})
	if err != nil {
		return err
	}
	return d.w.addMetadata(m)
}
