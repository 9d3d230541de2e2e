package otlp

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
)

// Fields of LogRecord.
const (
	logTime       = 1
	logSeverity   = 2
	logLevel      = 3
	logBody       = 5
	logAttributes = 6
	logDropped    = 7
	logFlags      = 8
	logTraceID    = 9
	logSpanID     = 10
	logObserved   = 11
	logEventName  = 12
)

var (
	logsEnvelope = newEnvelope("resourceLogs", "scopeLogs", "logRecords")

	logMessage = newMessage(
		field{num: logTime, wire: fixed64, kind: kindUint64, name: "timeUnixNano"},
		field{num: logSeverity, wire: varint, kind: kindEnum, name: "severityNumber", enum: severityNames()},
		field{num: logLevel, wire: lengths, kind: kindText, name: "severityText"},
		field{num: logBody, wire: lengths, kind: kindAnyValue, once: true, name: "body"},
		attributesField(logAttributes),
		field{num: logDropped, wire: varint, kind: kindUint32, name: "droppedAttributesCount"},
		field{num: logFlags, wire: fixed32, kind: kindUint32, name: "flags"},
		idField(logTraceID, "traceId", traceIDSize),
		idField(logSpanID, "spanId", spanIDSize),
		field{num: logObserved, wire: fixed64, kind: kindUint64, name: "observedTimeUnixNano"},
		field{num: logEventName, wire: lengths, kind: kindText, name: "eventName"},
	)
)

// severityNames returns SEVERITY_NUMBER_UNSPECIFIED, _TRACE, _TRACE2, … _FATAL4.
func severityNames() []string {
	const prefix = "SEVERITY_NUMBER_"
	names := []string{prefix + "UNSPECIFIED"}
	for _, level := range [...]string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"} {
		names = append(names, prefix+level)
		for i := 2; i <= 4; i++ {
			names = append(names, prefix+level+strconv.Itoa(i))
		}
	}
	return names
}

// DecodeLogs decodes the body of an ExportLogsServiceRequest into batches of stream and emits them after the whole body was
// read. A body that cannot be decoded is fault.Invalid, one above the limits fault.TooLarge, both with nothing emitted; errors of
// emit come back as they are. The Result counts log records.
func DecodeLogs(body []byte, enc Encoding, opts wire.Options, stream signal.Stream, emit wire.Emit) (wire.Result, error) {
	l := &logDecoder{decoder: newDecoder(enc, opts, stream, isLogColumn)}
	l.record = l.read
	l.visit = l.field
	return l.decode(logsEnvelope, body, emit)
}

type logDecoder struct {
	*decoder
	rec   logRecord
	visit visitor
}

type logRecord struct {
	time, observed   uint64
	severity         int32
	level, eventName []byte
	body             int32
	attributes       list
	dropped, flags   uint64
	traceID, spanID  []byte
}

func (l *logDecoder) read(raw []byte) error {
	ok, err := l.admit("log record", len(raw))
	if !ok {
		return err
	}
	m := l.tree.mark()
	defer l.tree.reset(m)
	l.rec = logRecord{}
	if err := l.each(logMessage, raw, l.visit); err != nil {
		return err
	}
	l.write()
	return nil
}

func (l *logDecoder) field(id int, v value) (err error) {
	r := &l.rec
	switch id {
	case logTime:
		r.time = v.num
	case logObserved:
		r.observed = v.num
	case logSeverity:
		r.severity = int32(v.num)
	case logLevel:
		r.level = v.raw
	case logEventName:
		r.eventName = v.raw
	case logBody:
		r.body, err = l.anyValue(r.body, v.raw)
	case logAttributes:
		return l.keyValue(&r.attributes, v.raw)
	case logDropped:
		r.dropped = v.num
	case logFlags:
		r.flags = v.num
	case logTraceID:
		r.traceID = v.raw
	case logSpanID:
		r.spanID = v.raw
	}
	return err
}

// Columns of logs that OTLP defines.
const (
	columnMessage   = "message"
	columnLevel     = "level"
	columnSeverity  = "severity_number"
	columnObserved  = "observed_timestamp"
	columnTraceID   = "trace_id"
	columnSpanID    = "span_id"
	columnFlags     = "flags"
	columnEventName = "event_name"
	columnDropped   = "dropped_attributes_count"
)

func isLogColumn(name []byte) bool {
	switch string(name) {
	case columnMessage, columnLevel, columnSeverity, columnObserved, columnTraceID, columnSpanID, columnFlags, columnEventName, columnDropped:
		return true
	default:
		return false
	}
}

func (l *logDecoder) write() {
	r, w := &l.rec, &l.row
	w.begin()
	w.setValue(columnMessage, r.body)
	w.text = l.level(w.text[:0])
	w.setText(columnLevel, w.text)
	w.setCount(columnSeverity, uint64(r.severity))
	l.timestamp(columnObserved, r.observed)
	w.setID(columnTraceID, r.traceID)
	w.setID(columnSpanID, r.spanID)
	w.setText(columnEventName, r.eventName)
	w.setCount(columnFlags, r.flags)
	w.setCount(columnDropped, r.dropped)
	w.constants(l.shared.fields)
	w.attributes(r.attributes.first)
	l.finish(l.received(r.time, r.observed))
}

// level appends the severity's text in lower case, else the name of its number's range; nothing when neither is known.
func (l *logDecoder) level(dst []byte) []byte {
	if len(l.rec.level) > 0 {
		return appendLower(dst, l.rec.level)
	}
	names := [...]string{"trace", "debug", "info", "warn", "error", "fatal"}
	if s := l.rec.severity; s >= 1 && s <= 24 {
		return append(dst, names[(s-1)/4]...)
	}
	return dst
}

func appendLower(dst, s []byte) []byte {
	for i, c := range s {
		switch {
		case c >= utf8.RuneSelf:
			return append(dst, bytes.ToLower(s[i:])...)
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}
