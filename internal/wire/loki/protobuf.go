package loki

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/wire"
)

// Field numbers of the package logproto (push.proto of Loki's API).
const (
	requestStreams = 1

	streamLabels  = 1
	streamEntries = 2

	entryTime     = 1
	entryLine     = 2
	entryMetadata = 3

	timeSeconds = 1
	timeNanos   = 2

	pairName  = 1
	pairValue = 2
)

// protoDecoder reads a PushRequest. It keeps no message: fields are walked over where they stand.
type protoDecoder struct {
	w       writer
	streams int
}

func (d *protoDecoder) request(body []byte) error {
	err := eachField(body, func(number int, v field) error {
		if number != requestStreams {
			return nil
		}
		d.streams++
		return d.stream(v.bytes)
	})
	if err == nil && d.streams == 0 {
		return fault.New(fault.Invalid, "%s", errNoStreams)
	}
	return err
}

// stream reads the labels, which may stand behind entries, and then the entries.
func (d *protoDecoder) stream(message []byte) error {
	var labels []byte
	err := eachField(message, func(number int, v field) error {
		if number == streamLabels {
			labels = v.bytes
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.w.labels.Reset()
	d.w.beginStream(parseLabels(&d.w.labels, labels))
	return eachField(message, func(number int, v field) error {
		if number != streamEntries {
			return nil
		}
		refused, err := d.entry(v.bytes)
		if err != nil {
			return err
		}
		return d.w.add(refused)
	})
}

// entry reads an entry. refused concerns this entry only.
func (d *protoDecoder) entry(message []byte) (refused, err error) {
	e := &d.w.entry
	e.reset()
	e.nanos = d.w.window.Received()
	err = eachField(message, func(number int, v field) error {
		var err error
		switch number {
		case entryTime:
			refused, err = d.time(v.bytes)
		case entryLine:
			e.line = v.bytes
		case entryMetadata:
			err = d.metadata(v.bytes)
		}
		return err
	})
	e.size += len(e.line)
	return refused, err
}

// time reads a google.protobuf.Timestamp.
func (d *protoDecoder) time(message []byte) (refused, err error) {
	var seconds, nanos int64
	err = eachField(message, func(number int, v field) error {
		switch number {
		case timeSeconds:
			seconds = int64(v.number)
		case timeNanos:
			nanos = int64(v.number)
		}
		return nil
	})
	const (
		perSecond  = 1_000_000_000
		maxSeconds = 9_223_372_035 // the year 2262
	)
	if seconds < -maxSeconds || seconds > maxSeconds || nanos < 0 || nanos >= perSecond {
		return wire.Reject(wire.BadTime, "the time of %d s and %d ns is none of the years 1678 to 2262", seconds, nanos), err
	}
	d.w.entry.nanos = seconds*perSecond + nanos
	return nil, err
}

func (d *protoDecoder) metadata(message []byte) error {
	var p pair
	err := eachField(message, func(number int, v field) error {
		switch number {
		case pairName:
			p.name = v.bytes
		case pairValue:
			p.value = v.bytes
		}
		return nil
	})
	if len(p.name) > 0 || len(p.value) > 0 {
		d.w.entry.addMetadata(p.name, p.value)
	}
	return err
}

// field is the value of a field: number of a varint, bytes of a length-delimited one.
type field struct {
	number uint64
	bytes  []byte
}

// eachField calls f with the fields of a message in order. Fixed-width fields and groups, which logproto has none of, are skipped.
func eachField(message []byte, f func(int, field) error) error {
	for len(message) > 0 {
		number, wireType, n := protowire.ConsumeTag(message)
		if n < 0 {
			return brokenProto(n)
		}
		message = message[n:]
		var v field
		known := true
		switch wireType {
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(message)
		default:
			known = false
			n = protowire.ConsumeFieldValue(number, wireType, message)
		}
		if n < 0 {
			return brokenProto(n)
		}
		message = message[n:]
		if known {
			if err := f(int(number), v); err != nil {
				return err
			}
		}
	}
	return nil
}

func brokenProto(n int) error {
	return fault.Wrap(fault.Invalid, protowire.ParseError(n), "the push request is no protobuf")
}
