package otlp

import (
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
)

// Fields of Span, its events, links and status.
const (
	spanTraceID       = 1
	spanSpanID        = 2
	spanTraceState    = 3
	spanParentID      = 4
	spanName          = 5
	spanKind          = 6
	spanStart         = 7
	spanEnd           = 8
	spanAttributes    = 9
	spanDropped       = 10
	spanEvents        = 11
	spanDroppedEvents = 12
	spanLinks         = 13
	spanDroppedLinks  = 14
	spanStatus        = 15
	spanFlags         = 16

	eventTime       = 1
	eventName       = 2
	eventAttributes = 3
	eventDropped    = 4

	linkTraceID    = 1
	linkSpanID     = 2
	linkTraceState = 3
	linkAttributes = 4
	linkDropped    = 5
	linkFlags      = 6

	statusMessage = 2
	statusCode    = 3
)

var (
	tracesEnvelope = newEnvelope("resourceSpans", "scopeSpans", "spans")

	spanMessage = newMessage(
		idField(spanTraceID, "traceId", traceIDSize),
		idField(spanSpanID, "spanId", spanIDSize),
		field{num: spanTraceState, wire: lengths, kind: kindText, name: "traceState"},
		idField(spanParentID, "parentSpanId", spanIDSize),
		field{num: spanName, wire: lengths, kind: kindText, name: "name"},
		field{num: spanKind, wire: varint, kind: kindEnum, name: "kind", enum: []string{
			"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER", "SPAN_KIND_CLIENT", "SPAN_KIND_PRODUCER", "SPAN_KIND_CONSUMER",
		}},
		field{num: spanStart, wire: fixed64, kind: kindUint64, name: "startTimeUnixNano"},
		field{num: spanEnd, wire: fixed64, kind: kindUint64, name: "endTimeUnixNano"},
		attributesField(spanAttributes),
		field{num: spanDropped, wire: varint, kind: kindUint32, name: "droppedAttributesCount"},
		field{num: spanEvents, wire: lengths, kind: kindMessage, once: true, list: true, name: "events"},
		field{num: spanDroppedEvents, wire: varint, kind: kindUint32, name: "droppedEventsCount"},
		field{num: spanLinks, wire: lengths, kind: kindMessage, once: true, list: true, name: "links"},
		field{num: spanDroppedLinks, wire: varint, kind: kindUint32, name: "droppedLinksCount"},
		field{num: spanStatus, wire: lengths, kind: kindMessage, once: true, name: "status"},
		field{num: spanFlags, wire: fixed32, kind: kindUint32, name: "flags"},
	)
	eventMessage = newMessage(
		field{num: eventTime, wire: fixed64, kind: kindUint64, name: "timeUnixNano"},
		field{num: eventName, wire: lengths, kind: kindText, name: "name"},
		attributesField(eventAttributes),
		field{num: eventDropped, wire: varint, kind: kindUint32, name: "droppedAttributesCount"},
	)
	linkMessage = newMessage(
		idField(linkTraceID, "traceId", traceIDSize),
		idField(linkSpanID, "spanId", spanIDSize),
		field{num: linkTraceState, wire: lengths, kind: kindText, name: "traceState"},
		attributesField(linkAttributes),
		field{num: linkDropped, wire: varint, kind: kindUint32, name: "droppedAttributesCount"},
		field{num: linkFlags, wire: fixed32, kind: kindUint32, name: "flags"},
	)
	statusMessageTable = newMessage(
		field{num: statusMessage, wire: lengths, kind: kindText, name: "message"},
		field{num: statusCode, wire: varint, kind: kindEnum, name: "code", enum: []string{
			"STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR",
		}},
	)
)

// DecodeTraces decodes the body of an ExportTraceServiceRequest, in the way of DecodeLogs. The Result counts spans; one without a
// trace id or span id, or with one of zeros, is rejected.
func DecodeTraces(body []byte, enc Encoding, opts wire.Options, stream signal.Stream, emit wire.Emit) (wire.Result, error) {
	s := &spanDecoder{decoder: newDecoder(enc, opts, stream, isSpanColumn)}
	s.record = s.read
	s.visit = s.field
	return s.decode(tracesEnvelope, body, emit)
}

type spanDecoder struct {
	*decoder
	span   span
	events jsonArray
	links  jsonArray
	visit  visitor
}

type span struct {
	traceID, spanID, parentID            []byte
	traceState, name, statusText         []byte
	kind, status                         int32
	start, end                           uint64
	attributes                           list
	flags                                uint64
	dropped, droppedEvents, droppedLinks uint64
}

func (s *spanDecoder) read(raw []byte) error {
	ok, err := s.admit("span", len(raw))
	if !ok {
		return err
	}
	m := s.tree.mark()
	defer s.tree.reset(m)
	s.span = span{}
	s.events.reset()
	s.links.reset()
	if err := s.each(spanMessage, raw, s.visit); err != nil {
		return err
	}
	s.write()
	return nil
}

func (s *spanDecoder) field(id int, v value) error {
	x := &s.span
	switch id {
	case spanTraceID:
		x.traceID = v.raw
	case spanSpanID:
		x.spanID = v.raw
	case spanTraceState:
		x.traceState = v.raw
	case spanParentID:
		x.parentID = v.raw
	case spanName:
		x.name = v.raw
	case spanKind:
		x.kind = int32(v.num)
	case spanStart:
		x.start = v.num
	case spanEnd:
		x.end = v.num
	case spanAttributes:
		return s.keyValue(&x.attributes, v.raw)
	case spanDropped:
		x.dropped = v.num
	case spanEvents:
		return s.event(v.raw)
	case spanDroppedEvents:
		x.droppedEvents = v.num
	case spanLinks:
		return s.link(v.raw)
	case spanDroppedLinks:
		x.droppedLinks = v.num
	case spanStatus:
		return s.each(statusMessageTable, v.raw, s.statusField)
	case spanFlags:
		x.flags = v.num
	}
	return nil
}

func (s *spanDecoder) statusField(id int, v value) error {
	switch id {
	case statusMessage:
		s.span.statusText = v.raw
	case statusCode:
		s.span.status = int32(v.num)
	}
	return nil
}

// event adds an event to the array of events.
func (s *spanDecoder) event(raw []byte) error {
	var (
		attributes    list
		time, dropped uint64
		name          []byte
	)
	err := s.each(eventMessage, raw, func(id int, v value) error {
		switch id {
		case eventTime:
			time = v.num
		case eventName:
			name = v.raw
		case eventAttributes:
			return s.keyValue(&attributes, v.raw)
		case eventDropped:
			dropped = v.num
		}
		return nil
	})
	if err != nil {
		return err
	}
	o := s.events.begin()
	o.nanos("timeUnixNano", time)
	o.string("name", name)
	o.attributes("attributes", s.tree, attributes)
	o.count("droppedAttributesCount", dropped)
	o.end()
	return nil
}

// link adds a link to the array of links.
func (s *spanDecoder) link(raw []byte) error {
	var (
		attributes             list
		traceID, spanID, state []byte
		dropped, flags         uint64
	)
	err := s.each(linkMessage, raw, func(id int, v value) error {
		switch id {
		case linkTraceID:
			traceID = v.raw
		case linkSpanID:
			spanID = v.raw
		case linkTraceState:
			state = v.raw
		case linkAttributes:
			return s.keyValue(&attributes, v.raw)
		case linkDropped:
			dropped = v.num
		case linkFlags:
			flags = v.num
		}
		return nil
	})
	if err != nil {
		return err
	}
	o := s.links.begin()
	o.id("traceId", traceID)
	o.id("spanId", spanID)
	o.string("traceState", state)
	o.attributes("attributes", s.tree, attributes)
	o.count("droppedAttributesCount", dropped)
	o.count("flags", flags)
	o.end()
	return nil
}

// Columns of spans that OTLP defines, besides those of logs with the same name.
const (
	columnName          = "name"
	columnKind          = "kind"
	columnEnd           = "end"
	columnDuration      = "duration_ns"
	columnStatusCode    = "status_code"
	columnStatusText    = "status_message"
	columnParentID      = "parent_span_id"
	columnTraceState    = "trace_state"
	columnEvents        = "events"
	columnLinks         = "links"
	columnDroppedEvents = "dropped_events_count"
	columnDroppedLinks  = "dropped_links_count"
)

func isSpanColumn(name []byte) bool {
	switch string(name) {
	case columnName, columnKind, columnEnd, columnDuration, columnStatusCode, columnStatusText, columnTraceID, columnSpanID, columnParentID,
		columnTraceState, columnEvents, columnLinks, columnFlags, columnDropped, columnDroppedEvents, columnDroppedLinks:
		return true
	default:
		return false
	}
}

func (s *spanDecoder) write() {
	x, w := &s.span, &s.row
	if isZero(x.traceID) || isZero(x.spanID) {
		s.reject(wire.Reject(wire.BadValue, "the span has no %s", missingID(x)))
		s.index++
		return
	}
	w.begin()
	w.setID(columnTraceID, x.traceID)
	w.setID(columnSpanID, x.spanID)
	w.setID(columnParentID, x.parentID)
	w.setText(columnName, x.name)
	w.setEnum(columnKind, x.kind, "unspecified", "internal", "server", "client", "producer", "consumer")
	s.timestamp(columnEnd, x.end)
	if x.start != 0 && x.end != 0 {
		w.b.SetInt64(w.b.OwnColumn(columnDuration), int64(x.end-x.start))
	}
	w.setEnum(columnStatusCode, x.status, "unset", "ok", "error")
	w.setText(columnStatusText, x.statusText)
	w.setText(columnTraceState, x.traceState)
	w.setJSON(columnEvents, s.events.text())
	w.setJSON(columnLinks, s.links.text())
	w.setCount(columnFlags, x.flags)
	w.setCount(columnDropped, x.dropped)
	w.setCount(columnDroppedEvents, x.droppedEvents)
	w.setCount(columnDroppedLinks, x.droppedLinks)
	w.constants(s.shared.fields)
	w.attributes(x.attributes.first)
	s.finish(s.received(x.start, x.end))
}

func missingID(x *span) string {
	if isZero(x.traceID) {
		return "trace id, or one of zeros"
	}
	return "span id, or one of zeros"
}
