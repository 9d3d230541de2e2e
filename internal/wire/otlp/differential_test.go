package otlp_test

import (
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/wire/otlp"
)

// marshaler is an export request of pdata.
type marshaler interface {
	MarshalProto() ([]byte, error)
	MarshalJSON() ([]byte, error)
}

// requireRows decodes what pdata writes, in both encodings, and compares the rows with the model's.
func requireRows(tb testing.TB, t *rapid.T, f decodeFunc, req marshaler, want []map[string]string) {
	tb.Helper()
	proto, err := req.MarshalProto()
	require.NoError(t, err)
	text, err := req.MarshalJSON()
	require.NoError(t, err)
	for _, b := range []struct {
		enc  otlp.Encoding
		body []byte
	}{{otlp.Protobuf, proto}, {otlp.JSON, text}} {
		rows, res, err := decode(tb, f, b.body, b.enc, options())
		require.NoError(t, err, "%s", text)
		require.Zero(t, res.Rejected, "%v", res.Errors)
		require.Equal(t, want, plainJSON(rows), "encoding %d of %s", b.enc, text)
	}
}

func TestLogsAgainstPdata(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		logs := plog.NewLogs()
		var want []map[string]string
		for range rapid.IntRange(0, 2).Draw(rt, "resources") {
			r := logs.ResourceLogs().AppendEmpty()
			r.SetSchemaUrl(rapid.SampledFrom([]string{"", "u"}).Draw(rt, "url"))
			genAttributes(rt, r.Resource().Attributes(), 2)
			r.Resource().SetDroppedAttributesCount(rapid.Uint32Range(0, 2).Draw(rt, "dropped"))
			for range rapid.IntRange(0, 2).Draw(rt, "scopes") {
				s := r.ScopeLogs().AppendEmpty()
				s.Scope().SetName(rapid.SampledFrom([]string{"", "n"}).Draw(rt, "name"))
				s.Scope().SetVersion(rapid.SampledFrom([]string{"", "v"}).Draw(rt, "version"))
				genAttributes(rt, s.Scope().Attributes(), 1)
				for range rapid.IntRange(0, 3).Draw(rt, "records") {
					row := model{}
					genLog(rt, s.LogRecords().AppendEmpty(), row)
					row.group(r.Resource(), r.SchemaUrl(), s.Scope(), s.SchemaUrl())
					want = append(want, row)
				}
			}
		}
		requireRows(t, rt, otlp.DecodeLogs, plogotlp.NewExportRequestFromLogs(logs), plainJSON(want))
	})
}

func genLog(t *rapid.T, l plog.LogRecord, row model) {
	l.SetTimestamp(genNanos(t))
	l.SetObservedTimestamp(genNanos(t))
	l.SetSeverityNumber(plog.SeverityNumber(rapid.Int32Range(-1, 30).Draw(t, "severity")))
	l.SetSeverityText(rapid.SampledFrom([]string{"", "Info", "ÄRGER"}).Draw(t, "level"))
	l.SetEventName(rapid.SampledFrom([]string{"", "event"}).Draw(t, "event"))
	l.SetFlags(plog.LogRecordFlags(rapid.Uint32().Draw(t, "flags")))
	l.SetDroppedAttributesCount(rapid.Uint32Range(0, 2).Draw(t, "dropped"))
	if rapid.Bool().Draw(t, "ids") {
		l.SetTraceID(genTraceID(t))
		l.SetSpanID(genSpanID(t))
	}
	genValue(t, l.Body(), 2)
	genAttributes(t, l.Attributes(), 2)

	row.at(l.Timestamp(), l.ObservedTimestamp())
	if l.Body().Type() != pcommon.ValueTypeEmpty {
		row["message"] = modelCell(l.Body())
	}
	row.text("level", modelLevel(l))
	row.count("severity_number", int64(l.SeverityNumber()))
	row.micros("observed_timestamp", l.ObservedTimestamp())
	row.text("event_name", l.EventName())
	row.count("flags", int64(l.Flags()))
	row.count("dropped_attributes_count", int64(l.DroppedAttributesCount()))
	trace, span := l.TraceID(), l.SpanID()
	row.id("trace_id", trace[:])
	row.id("span_id", span[:])
	row.attributes(l.Attributes())
}

func modelLevel(l plog.LogRecord) string {
	switch n := l.SeverityNumber(); {
	case l.SeverityText() != "":
		return strings.ToLower(l.SeverityText())
	case n < 1 || n > 24:
		return ""
	default:
		return strings.ToLower(strings.TrimRight(n.String(), "234"))
	}
}

func TestSpansAgainstPdata(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		traces := ptrace.NewTraces()
		var want []map[string]string
		for range rapid.IntRange(0, 2).Draw(rt, "resources") {
			r := traces.ResourceSpans().AppendEmpty()
			genAttributes(rt, r.Resource().Attributes(), 1)
			s := r.ScopeSpans().AppendEmpty()
			s.SetSchemaUrl("s")
			for range rapid.IntRange(0, 3).Draw(rt, "spans") {
				row := model{}
				genSpan(rt, s.Spans().AppendEmpty(), row)
				row.group(r.Resource(), r.SchemaUrl(), s.Scope(), s.SchemaUrl())
				want = append(want, row)
			}
		}
		requireRows(t, rt, otlp.DecodeTraces, ptraceotlp.NewExportRequestFromTraces(traces), plainJSON(want))
	})
}

func genSpan(t *rapid.T, s ptrace.Span, row model) {
	s.SetTraceID(genTraceID(t))
	s.SetSpanID(genSpanID(t))
	if rapid.Bool().Draw(t, "parent") {
		s.SetParentSpanID(genSpanID(t))
	}
	s.SetName(rapid.String().Draw(t, "name"))
	s.SetKind(ptrace.SpanKind(rapid.Int32Range(-1, 7).Draw(t, "kind")))
	s.SetStartTimestamp(genNanos(t))
	s.SetEndTimestamp(genNanos(t))
	s.TraceState().FromRaw(rapid.SampledFrom([]string{"", "a=b"}).Draw(t, "state"))
	s.Status().SetCode(ptrace.StatusCode(rapid.Int32Range(0, 3).Draw(t, "status")))
	s.Status().SetMessage(rapid.SampledFrom([]string{"", "broken"}).Draw(t, "message"))
	s.SetFlags(rapid.Uint32().Draw(t, "flags"))
	s.SetDroppedEventsCount(rapid.Uint32().Draw(t, "dropped"))
	s.SetDroppedLinksCount(rapid.Uint32Range(0, 1).Draw(t, "dropped"))
	genAttributes(t, s.Attributes(), 2)
	for range rapid.IntRange(0, 2).Draw(t, "events") {
		e := s.Events().AppendEmpty()
		e.SetTimestamp(genNanos(t))
		e.SetName("e")
		genAttributes(t, e.Attributes(), 1)
	}
	for range rapid.IntRange(0, 2).Draw(t, "links") {
		l := s.Links().AppendEmpty()
		l.SetTraceID(genTraceID(t))
		l.SetSpanID(genSpanID(t))
		l.SetFlags(rapid.Uint32Range(0, 1).Draw(t, "flags"))
		genAttributes(t, l.Attributes(), 1)
	}
	modelSpan(s, row)
}

func modelSpan(s ptrace.Span, row model) {
	trace, span, parent := s.TraceID(), s.SpanID(), s.ParentSpanID()
	row.id("trace_id", trace[:])
	row.id("span_id", span[:])
	row.id("parent_span_id", parent[:])
	row.at(s.StartTimestamp(), s.EndTimestamp())
	row.text("name", s.Name())
	row.text("kind", pick(int(s.Kind()), "unspecified", "internal", "server", "client", "producer", "consumer"))
	row.text("status_code", pick(int(s.Status().Code()), "unset", "ok", "error"))
	row.text("status_message", s.Status().Message())
	row.text("trace_state", s.TraceState().AsRaw())
	row.micros("end", s.EndTimestamp())
	if s.StartTimestamp() != 0 && s.EndTimestamp() != 0 {
		row["duration_ns"] = "int64 " + strconv.FormatInt(int64(s.EndTimestamp())-int64(s.StartTimestamp()), 10)
	}
	row.count("flags", int64(s.Flags()))
	row.count("dropped_events_count", int64(s.DroppedEventsCount()))
	row.count("dropped_links_count", int64(s.DroppedLinksCount()))
	row.attributes(s.Attributes())
	var events, links []any
	for _, e := range s.Events().All() {
		events = append(events, compact(map[string]any{
			"timeUnixNano": nanosText(e.Timestamp()), "name": e.Name(), "attributes": modelObject(e.Attributes()),
		}))
	}
	for _, l := range s.Links().All() {
		trace, span := l.TraceID(), l.SpanID()
		links = append(links, compact(map[string]any{
			"traceId": hex.EncodeToString(trace[:]), "spanId": hex.EncodeToString(span[:]),
			"attributes": modelObject(l.Attributes()), "flags": json.Number(strconv.Itoa(int(l.Flags()))),
		}))
	}
	if events != nil {
		row["events"] = "json " + mustJSON(events)
	}
	if links != nil {
		row["links"] = "json " + mustJSON(links)
	}
}

func pick(n int, names ...string) string {
	if n >= 0 && n < len(names) {
		return names[n]
	}
	return strconv.Itoa(n)
}

func nanosText(t pcommon.Timestamp) string {
	if t == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(t), 10)
}

// compact drops members of the zero value.
func compact(o map[string]any) map[string]any {
	for k, v := range o {
		switch x := v.(type) {
		case string:
			if x == "" {
				delete(o, k)
			}
		case json.Number:
			if x == "0" {
				delete(o, k)
			}
		case map[string]any:
			if len(x) == 0 {
				delete(o, k)
			}
		}
	}
	return o
}
