package otlp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"

	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/otlp"
)

// fullLogs is a request in which every field of a log record is set once.
func fullLogs() plogotlp.ExportRequest {
	logs := plog.NewLogs()
	r := logs.ResourceLogs().AppendEmpty()
	r.SetSchemaUrl("https://schema/r")
	r.Resource().SetDroppedAttributesCount(3)
	r.Resource().Attributes().PutStr("service.name", "cart")
	r.Resource().Attributes().PutStr("schema_url", "mine")
	s := r.ScopeLogs().AppendEmpty()
	s.SetSchemaUrl("https://schema/s")
	s.Scope().SetName("lib")
	s.Scope().SetVersion("1.2")
	s.Scope().SetDroppedAttributesCount(4)
	s.Scope().Attributes().PutInt("n", 5)
	l := s.LogRecords().AppendEmpty()
	l.SetTimestamp(1_741_600_000_000_000_001)
	l.SetObservedTimestamp(1_741_600_000_000_001_999)
	l.SetSeverityNumber(plog.SeverityNumberWarn2)
	l.SetSeverityText("Warning")
	l.SetEventName("checkout")
	l.SetFlags(1)
	l.SetDroppedAttributesCount(2)
	l.SetTraceID(pcommon.TraceID{0, 0x8e, 15: 3})
	l.SetSpanID(pcommon.SpanID{7: 0xab})
	l.Body().SetStr("out of apples")
	a := l.Attributes()
	a.PutStr("message", "an attribute")
	a.PutStr("resource.service.name", "clash")
	a.PutBool("ok", true)
	a.PutInt("big", 9_007_199_254_740_993)
	a.PutDouble("ratio", 0.1)
	a.PutEmptyBytes("raw").FromRaw([]byte{0, 255})
	a.PutEmpty("nothing")
	a.PutStr("_mine", "underscore")
	nested := a.PutEmptyMap("http")
	nested.PutStr("method", "GET")
	nested.PutEmptyMap("request").PutInt("size", 7)
	nested.PutEmptyMap("empty")
	a.PutStr("http.method", "literal")
	list := a.PutEmptySlice("list")
	list.AppendEmpty().SetInt(1)
	list.AppendEmpty().SetEmptyMap().PutStr("k", "\"v\"")
	list.AppendEmpty()
	return plogotlp.NewExportRequestFromLogs(logs)
}

func TestEveryFieldOfALogHasAColumn(t *testing.T) {
	t.Parallel()
	want := []map[string]string{{
		"_t":                                "1741600000000000001",
		"message":                           "string out of apples",
		"level":                             "string warning",
		"severity_number":                   "int64 14",
		"observed_timestamp":                "timestamp 1741600000000001",
		"trace_id":                          "string 008e0000000000000000000000000003",
		"span_id":                           "string 00000000000000ab",
		"event_name":                        "string checkout",
		"flags":                             "int64 1",
		"dropped_attributes_count":          "int64 2",
		"resource.service.name":             "string cart",
		"resource.schema_url":               "string https://schema/r",
		"resource.attributes.schema_url":    "string mine",
		"resource.dropped_attributes_count": "int64 3",
		"scope.name":                        "string lib",
		"scope.version":                     "string 1.2",
		"scope.schema_url":                  "string https://schema/s",
		"scope.dropped_attributes_count":    "int64 4",
		"scope.n":                           "int64 5",
		"attributes.message":                "string an attribute",
		"attributes.resource.service.name":  "string clash",
		"ok":                                "bool true",
		"big":                               "int64 9007199254740993",
		"ratio":                             "float64 0.1",
		"raw":                               "string AP8=",
		"_user_mine":                        "string underscore",
		"http.method":                       "string literal",
		"http.request.size":                 "int64 7",
		"http.empty":                        "json {}",
		"list":                              `json [1,{"k":"\"v\""},null]`,
		"_overflow":                         `json {"http.method":"GET"}`,
	}}
	proto, err := fullLogs().MarshalProto()
	require.NoError(t, err)
	rows, res, err := decode(t, otlp.DecodeLogs, proto, otlp.Protobuf, options())
	require.NoError(t, err)
	require.Equal(t, want, rows)
	require.Equal(t, wire.Result{Accepted: 1, Settled: 1}, res)

	text, err := fullLogs().MarshalJSON()
	require.NoError(t, err)
	rows, _, err = decode(t, otlp.DecodeLogs, text, otlp.JSON, options())
	require.NoError(t, err)
	require.Equal(t, want, rows)
}

// TestLogTime is case T04.
func TestLogTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fields, want string }{
		"no time":            {``, "1741600800000000000"},
		"zero":               {`"timeUnixNano":"0"`, "1741600800000000000"},
		"two zeros":          {`"timeUnixNano":"00"`, "1741600800000000000"},
		"zero number":        {`"timeUnixNano":0`, "1741600800000000000"},
		"null":               {`"timeUnixNano":null`, "1741600800000000000"},
		"observed":           {`"timeUnixNano":0,"observedTimeUnixNano":"1741600000000000001"`, "1741600000000000001"},
		"observed snake":     {`"observed_time_unix_nano":"1741600000000000001"`, "1741600000000000001"},
		"time before others": {`"observedTimeUnixNano":"5","timeUnixNano":"1741600000000000001"`, "1741600000000000001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{` + c.fields + `}]}]}]}`
			rows, _, err := decode(t, otlp.DecodeLogs, []byte(body), otlp.JSON, options())
			require.NoError(t, err)
			require.Equal(t, c.want, rows[0]["_t"])
		})
	}
}

func TestLogBodiesAndLevels(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ record, column, want string }{
		"int body":      {`{"body":{"intValue":"-5"}}`, "message", "int64 -5"},
		"double body":   {`{"body":{"doubleValue":1e-7}}`, "message", "float64 1e-07"},
		"bool body":     {`{"body":{"boolValue":false}}`, "message", "bool false"},
		"bytes body":    {`{"body":{"bytesValue":"_-8"}}`, "message", "string /+8="},
		"list body":     {`{"body":{"arrayValue":{"values":[{"intValue":1},{"doubleValue":"NaN"}]}}}`, "message", `json [1,"NaN"]`},
		"kvlist body":   {`{"body":{"kvlistValue":{"values":[{"key":"a","value":{"stringValue":"b"}}]}}}`, "message", `json {"a":"b"}`},
		"empty kvlist":  {`{"body":{"kvlistValue":{}}}`, "message", `json {}`},
		"no body":       {`{}`, "message", ""},
		"empty string":  {`{"body":{"stringValue":""}}`, "message", "string "},
		"escapes":       {`{"body":{"stringValue":"a\u00e9\ud83d\ude00\n\\\"\/\ud800"}}`, "message", "string aé😀\n\\\"/\uFFFD"},
		"number range":  {`{"severityNumber":17}`, "level", "string error"},
		"number name":   {`{"severityNumber":"SEVERITY_NUMBER_DEBUG3"}`, "severity_number", "int64 7"},
		"number beyond": {`{"severityNumber":99}`, "severity_number", "int64 99"},
		"beyond, level": {`{"severityNumber":99}`, "level", ""},
		"text wins":     {`{"severityNumber":17,"severityText":"INFO"}`, "level", "string info"},
		"free name":     {`{"attributes":[{"key":"level","value":{"stringValue":"high"}}]}`, "level", "string high"},
		"zero trace id": {`{"traceId":"00000000000000000000000000000000"}`, "trace_id", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[` + c.record + `]}]}]}`
			rows, _, err := decode(t, otlp.DecodeLogs, []byte(body), otlp.JSON, options())
			require.NoError(t, err)
			require.Equal(t, c.want, rows[0][c.column])
		})
	}
}

func TestNamesTakenTwiceLoseNoValue(t *testing.T) {
	t.Parallel()
	body := `{"resourceLogs":[{"resource":{"attributes":[{"key":"a","value":{"intValue":1}},{"key":"a","value":{"intValue":2}}]},
		"scopeLogs":[{"logRecords":[{"body":{"stringValue":"b"},"attributes":[
		{"key":"x","value":{"intValue":1}},{"key":"x","value":{"stringValue":"2"}},{"key":"","value":{"intValue":3}},
		{"key":"message","value":{"intValue":4}},{"key":"message","value":{"intValue":5}},
		{"key":"attributes.message","value":{"intValue":6}}]}]}]}]}`
	rows, _, err := decode(t, otlp.DecodeLogs, []byte(body), otlp.JSON, options())
	require.NoError(t, err)
	require.Equal(t, []map[string]string{{
		"_t": "1741600800000000000", "message": "string b", "resource.a": "int64 1", "x": "int64 1", "attributes.message": "int64 4",
		"_overflow": `json {"resource.a":2,"x":"2","":3,"message":5,"attributes.message":6}`,
	}}, rows)
}

func TestColumnsBeyondTheCapGoToTheOverflow(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.MaxColumns = 3
	body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[
		{"body":{"stringValue":"b"},"attributes":[
		{"key":"x","value":{"intValue":1}},{"key":"_y","value":{"intValue":2}},{"key":"z","value":{"intValue":3}}]},
		{"attributes":[{"key":"_y","value":{"intValue":4}},
		{"key":"w","value":{"kvlistValue":{"values":[{"key":"v","value":{"boolValue":true}}]}}}]}]}]}]}`
	rows, _, err := decode(t, otlp.DecodeLogs, []byte(body), otlp.JSON, opts)
	require.NoError(t, err)
	require.Equal(t, []map[string]string{
		{"_t": "1741600800000000000", "message": "string b", "x": "int64 1", "_user_y": "int64 2", "_overflow": `json {"z":3}`},
		{"_t": "1741600800000000000", "_user_y": "int64 4", "_overflow": `json {"w.v":true}`},
	}, rows)
}

// TestLogsOutsideLimits is the decoder's part of case O04.
func TestLogsOutsideLimits(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.MaxAge, opts.MaxFutureSkew, opts.MaxLineBytes = time.Hour, time.Minute, 80
	body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"good"}},{"timeUnixNano":"1"},
		{"timeUnixNano":"1741600861000000000"},{"timeUnixNano":"18446744073709551615"},
		{"body":{"stringValue":"0123456789012345678901234567890123456789012345678901234567890123456789"}},{"body":{"stringValue":"last"}}]}]},
		{"resource":{"attributes":[{"key":"0123456789012345678901234567890123456789012345678901234567890123456789"}]},
		"scopeLogs":[{"logRecords":[{}]}]}]}`
	rows, res, err := decode(t, otlp.DecodeLogs, []byte(body), otlp.JSON, opts)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.Equal(t, "string good", rows[0]["message"])
	require.Equal(t, "string last", rows[1]["message"])
	require.Equal(t, 5, res.Rejected)
	require.Equal(t, 7, res.Settled)
	var places []int
	for _, e := range res.Errors {
		places = append(places, e.Index)
	}
	require.Equal(t, []int{1, 2, 3, 4, 6}, places)
	require.Contains(t, res.Errors[0].Reason, "too old")
	require.Contains(t, res.Errors[3].Reason, "max_line_size")
}

func TestResourceAndScopeMayStandBehindTheirRecords(t *testing.T) {
	t.Parallel()
	body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}],"scope":{"name":"lib"}}],
		"resource":{"attributes":[{"key":"a","value":{"intValue":1}}]}},
		{"scopeLogs":[{"logRecords":[{}]}]}]}`
	rows, _, err := decode(t, otlp.DecodeLogs, []byte(body), otlp.JSON, options())
	require.NoError(t, err)
	require.Equal(t, []map[string]string{
		{"_t": "1741600800000000000", "scope.name": "string lib", "resource.a": "int64 1"},
		{"_t": "1741600800000000000"},
	}, rows)
}
