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
	w *writer
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
	s := d.w.beginSeries()
	err := each(f.raw, func(f field) (err error) {
		switch f.id {
		case v1SeriesLabel:
			err = d.label(&f, s.addLabel)
		case v1SeriesSample:
			err = s.keep(&s.samples, &f)
		case v1SeriesHistogram:
			err = s.keep(&s.histograms, &f)
		case v1SeriesExemplar:
			err = s.keep(&s.exemplars, &f)
		}
		return err
	})
	if err != nil {
		return err
	}
	return d.w.endSeries(d.exemplar)
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
