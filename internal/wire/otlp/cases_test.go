package otlp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/otlp"
)

const ids = `"traceId":"008efff798038103d269b633813fc703","spanId":"00f067aa0ba902b7"`

func spanBody(fields string) []byte {
	return []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{` + fields + `}]}]}]}`)
}

// attributeBody is a span with the attribute a.
func attributeBody(value string) []byte {
	return spanBody(ids + `,"attributes":[{"key":"a","value":` + value + `}]`)
}

// gaugeBody is a gauge with one point.
func gaugeBody(fields string) []byte { return pointBody(`"gauge":{"dataPoints":[{` + fields + `}]}`) }

func histogramBody(fields string) []byte {
	return pointBody(`"histogram":{"dataPoints":[{` + fields + `}]}`)
}

func pointBody(metric string) []byte {
	return []byte(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m",` + metric + `}]}]}]}`)
}

// TestNumbersInJSON is case O01: 64-bit integers as strings and as numbers, exact; enums by number and by name.
func TestNumbersInJSON(t *testing.T) {
	t.Parallel()
	traces, metrics := decodeFunc(otlp.DecodeTraces), decodeFunc(otlp.DecodeMetrics)
	const (
		event     = `json [{"timeUnixNano":"1741600000000000001"}]`
		histogram = `json {"count":3,"explicitBounds":[],"bucketCounts":[]}`
	)
	for name, c := range map[string]struct {
		f            decodeFunc
		body         []byte
		column, want string
	}{
		"event time, string": {traces, spanBody(ids + `,"events":[{"timeUnixNano":"1741600000000000001"}]`), "events", event},
		"event time, number": {traces, spanBody(ids + `,"events":[{"timeUnixNano":1741600000000000001}]`), "events", event},
		"attribute, string":  {traces, attributeBody(`{"intValue":"-5"}`), "a", "int64 -5"},
		"attribute, number":  {traces, attributeBody(`{"intValue":-5}`), "a", "int64 -5"},
		"attribute, least":   {traces, attributeBody(`{"intValue":"-9223372036854775808"}`), "a", "int64 -9223372036854775808"},
		"attribute, scaled":  {traces, attributeBody(`{"intValue":1.50e3}`), "a", "int64 1500"},
		"kind, number":       {traces, spanBody(ids + `,"kind":2`), "kind", "string server"},
		"kind, name":         {traces, spanBody(ids + `,"kind":"SPAN_KIND_CONSUMER"`), "kind", "string consumer"},
		"status, name":       {traces, spanBody(ids + `,"status":{"code":"STATUS_CODE_ERROR"}`), "status_code", "string error"},
		"asInt, string":      {metrics, gaugeBody(`"asInt":"9223372036854775807"`), "_overflow", `json {"asInt":9223372036854775807}`},
		"asInt, number":      {metrics, gaugeBody(`"asInt":9223372036854775807`), "_overflow", `json {"asInt":9223372036854775807}`},
		"count, string":      {metrics, histogramBody(`"count":"3"`), "_histogram", histogram},
		"count, number":      {metrics, histogramBody(`"count":3`), "_histogram", histogram},
		"infinity":           {metrics, gaugeBody(`"asDouble":"-Infinity"`), "value", "float64 -Inf"},
		"double as string":   {metrics, gaugeBody(`"asDouble":"1.5"`), "value", "float64 1.5"},
		"temporality, name": {
			metrics, pointBody(`"sum":{"dataPoints":[{"asInt":1}],"aggregationTemporality":"AGGREGATION_TEMPORALITY_DELTA"}`),
			"_temporality", "string delta",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, res, err := decode(t, c.f, c.body, otlp.JSON, options())
			require.NoError(t, err)
			require.Empty(t, res.Errors)
			require.Equal(t, c.want, rows[0][c.column])
		})
	}
}

// TestErrorsNameThePath is the other half of cases O01 and O02: nothing is stored, and the error tells where the fault lies.
func TestErrorsNameThePath(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		`"events":[{},{"timeUnixNano":"x"}]`:            `events[1].timeUnixNano: "x" is no unsigned integer`,
		`"startTimeUnixNano":"1.5"`:                     `startTimeUnixNano: "1.5" is no`,
		`"startTimeUnixNano":-1`:                        `startTimeUnixNano: "-1" is no`,
		`"startTimeUnixNano":"18446744073709551616"`:    `startTimeUnixNano: "18446744073709551616" is no`,
		`"startTimeUnixNano":{}`:                        `startTimeUnixNano: "{}" is no`,
		`"kind":"SERVER"`:                               `kind: "SERVER" is no number or name`,
		`"name":5`:                                      `name: "5" is no string`,
		`"attributes":{}`:                               `attributes: is no array`,
		`"attributes":[5]`:                              `attributes[0]: is no object`,
		`"attributes":[{"value":{"boolValue":"true"}}]`: `attributes[0].value.boolValue: `,
		`"attributes":[{"value":{"arrayValue":{"values":[{},{"bytesValue":"*"}]}}}]`: `attributes[0].value.arrayValue.values[1].bytesValue: `,
		`"traceId":"AI7/95gDgQPSabYzgT/HAw=="`:                                       `traceId: `,
		`"traceId":"8efff798038103d269b633813fc703"`:                                 `traceId: `,
		`"traceId":"zz8efff798038103d269b633813fc703"`:                               `traceId: `,
		`"spanId":"f067aa0ba902b7"`:                                                  `spanId: "f067aa0ba902b7" is no id of 16 hexadecimal`,
	} {
		rows, res, err := decode(t, otlp.DecodeTraces, spanBody(fields), otlp.JSON, options())
		require.Empty(t, rows)
		require.Zero(t, res.Accepted)
		requireInvalid(t, err, "resourceSpans[0].scopeSpans[0].spans[0]."+want)
	}
}

func TestJSONThatIsNoRequest(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"resourceLogs":[]}`:       `the body has no resourceSpans, but "resourceLogs"`,
		`[]`:                        `the body is no JSON object`,
		``:                          `invalid JSON`,
		`{"resourceSpans":[}`:       `invalid JSON`,
		`{"resourceSpans":[]} x`:    `invalid JSON`,
		"\x0a\x02\x12\x00":          `invalid JSON`, // a protobuf body
		`{"resourceSpans":[1]}`:     `resourceSpans[0]: is no object`,
		`{"resourceSpans":{"a":1}}`: `resourceSpans: is no array`,
	} {
		_, _, err := decode(t, otlp.DecodeTraces, []byte(body), otlp.JSON, options())
		requireInvalid(t, err, want)
	}
}

// TestIDs is case O02 and the decoder's part of case O07.
func TestIDs(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		ids: "",
		`"traceId":"008EFFF798038103D269B633813FC703","spanId":"00F067AA0BA902B7"`:   "",
		`"trace_id":"008efff798038103d269b633813fc703","span_id":"00f067aa0ba902b7"`: "",
		ids + `,"parentSpanId":"0000000000000000"`:                                   "",
		ids + `,"parentSpanId":""`:                                                   "",
		`"traceId":"008efff798038103d269b633813fc703","spanId":"0000000000000000"`:   "no span id",
		`"traceId":"00000000000000000000000000000000","spanId":"00f067aa0ba902b7"`:   "no trace id",
		`"traceId":"008efff798038103d269b633813fc703"`:                               "no span id",
		`"traceId":"","spanId":"00f067aa0ba902b7"`:                                   "no trace id",
	} {
		rows, res, err := decode(t, otlp.DecodeTraces, spanBody(fields), otlp.JSON, options())
		require.NoError(t, err)
		if want != "" {
			require.Empty(t, rows)
			require.Equal(t, 1, res.Rejected)
			require.Contains(t, res.Errors[0].Reason, want)
			continue
		}
		require.Equal(t, "string 008efff798038103d269b633813fc703", rows[0]["trace_id"])
		require.Equal(t, "string 00f067aa0ba902b7", rows[0]["span_id"])
		require.NotContains(t, rows[0], "parent_span_id")
	}
}

func TestKeysInJSON(t *testing.T) {
	t.Parallel()
	rows, _, err := decode(t, otlp.DecodeTraces, []byte(`{"resource_spans":[{"scope_spans":[{"spans":[{`+ids+
		`,"start_time_unix_nano":"5","unknown":{"deep":[1,"}"]},"\u006eame":"escaped","droppedAttributesCount":null}],"x":0}]}],"extra":true}`),
		otlp.JSON, options())
	require.NoError(t, err)
	require.Equal(t, "5", rows[0]["_t"])
	require.Equal(t, "string escaped", rows[0]["name"])
	for _, body := range []string{`{}`, ` { } `, `{"resourceSpans":null}`, `{"resourceSpans":[]}`, `{"resourceSpans":[{}],"x":1}`} {
		rows, res, err := decode(t, otlp.DecodeTraces, []byte(body), otlp.JSON, options())
		require.NoError(t, err)
		require.Empty(t, rows)
		require.Equal(t, wire.Result{}, res)
	}
}

func TestProtobufThatIsNone(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		string(spanBody(ids)): "invalid protobuf", // a JSON body
		"\x0a":                "invalid protobuf",
		"\x08\x01":            "resourceSpans[0]: invalid protobuf: wire type 0",
		"\x0a\x02\x12\x05":    "resourceSpans[0].scopeSpans[0]: invalid protobuf",
		"\x0a\x08\x12\x06\x12\x04\x0a\x02\x01\x02": "resourceSpans[0].scopeSpans[0].spans[0].traceId: has 2 bytes, 16 are wanted",
		"\x0a\x06\x12\x04\x12\x02\x38\x01":         "resourceSpans[0].scopeSpans[0].spans[0].startTimeUnixNano: invalid protobuf: wire type 0",
	} {
		rows, _, err := decode(t, otlp.DecodeTraces, []byte(body), otlp.Protobuf, options())
		require.Empty(t, rows)
		requireInvalid(t, err, want)
	}
}

func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	nested := func(n int) []byte {
		value := strings.Repeat(`{"arrayValue":{"values":[`, n) + `{}` + strings.Repeat(`]}}`, n)
		return spanBody(ids + `,"attributes":[{"key":"a","value":` + value + `}]`)
	}
	_, _, err := decode(t, otlp.DecodeTraces, nested(30), otlp.JSON, options())
	require.NoError(t, err)
	_, _, err = decode(t, otlp.DecodeTraces, nested(40), otlp.JSON, options())
	requireInvalid(t, err, "nests too deep")
	_, _, err = decode(t, otlp.DecodeTraces, nested(100_000), otlp.JSON, options())
	requireInvalid(t, err, "too deep")
	_, _, err = decode(t, otlp.DecodeTraces, []byte(strings.Repeat("[", 1<<20)), otlp.JSON, options())
	requireInvalid(t, err, "too deep")
}

// TestRepeatedResourceIsBounded sends a body whose rows would take a hundred times its size.
func TestRepeatedResourceIsBounded(t *testing.T) {
	t.Parallel()
	body := `{"resourceLogs":[{"resource":{"attributes":[{"key":"big","value":{"stringValue":"` + strings.Repeat("x", 1<<18) + `"}}]},
		"scopeLogs":[{"logRecords":[{}` + strings.Repeat(",{}", 2000) + `]}]}]}`
	_, res, err := decode(t, otlp.DecodeLogs, []byte(body), otlp.JSON, options())
	require.True(t, fault.Is(err, fault.TooLarge), "%v", err)
	require.Zero(t, res.Accepted)
	opts := options()
	opts.MaxBodyBytes = 1000
	_, _, err = decode(t, otlp.DecodeLogs, []byte(body), otlp.JSON, opts)
	require.True(t, fault.Is(err, fault.TooLarge), "%v", err)
}

// TestManyRecordsComeInPieces also looks at what a refusing Emit does to the result.
func TestManyRecordsComeInPieces(t *testing.T) {
	t.Parallel()
	body := []byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}` + strings.Repeat(",{}", 2*wire.MaxChunkRows) + `]}]}]}`)
	rows, res, err := decode(t, otlp.DecodeLogs, body, otlp.JSON, options())
	require.NoError(t, err)
	require.Len(t, rows, 2*wire.MaxChunkRows+1)
	require.Equal(t, 2*wire.MaxChunkRows+1, res.Settled)

	refusal := fault.New(fault.Unavailable, "full")
	calls := 0
	res, err = otlp.DecodeLogs(body, otlp.JSON, options(), stream(signal.Logs), func(b *signal.Batch) error {
		b.Release()
		if calls++; calls == 2 {
			return refusal
		}
		return nil
	})
	require.ErrorIs(t, err, refusal)
	require.Equal(t, wire.Result{Accepted: wire.MaxChunkRows, Settled: wire.MaxChunkRows}, res)
}

func TestEventAttributesKeepTheirTypes(t *testing.T) {
	t.Parallel()
	rows, _, err := decode(t, otlp.DecodeTraces, spanBody(ids+`,"links":[{`+ids+`,"traceState":"a=b"}],
		"events":[{"name":"e","droppedAttributesCount":2,"attributes":[{"key":"n","value":{"intValue":"9007199254740993"}},
		{"key":"m","value":{"kvlistValue":{"values":[{"key":"k","value":{"boolValue":true}}]}}}]}]`), otlp.JSON, options())
	require.NoError(t, err)
	require.Equal(t, `json [{"name":"e","attributes":{"n":9007199254740993,"m":{"k":true}},"droppedAttributesCount":2}]`, rows[0]["events"])
	require.Equal(t, `json [{"traceId":"008efff798038103d269b633813fc703","spanId":"00f067aa0ba902b7","traceState":"a=b"}]`, rows[0]["links"])
}
