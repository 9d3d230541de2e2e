package jsonrow_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/jsonrow"
	"github.com/millstream/millstream/internal/wire/wiretest"
)

const at = "1793534400000000000" // the time of receipt

func options() wire.Options {
	return wire.Options{ReceivedAt: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
}

// decode returns the rows of lines, and the reasons of refused ones.
func decode(t testing.TB, s signal.Signal, opts wire.Options, lines ...string) (rows []wiretest.Row, refused []string) {
	t.Helper()
	b := signal.NewBuilder()
	d := jsonrow.NewDecoder(b, signal.Stream{Org: tenant.ID("t1"), Signal: s, Name: "s1"}, opts)
	for _, line := range lines {
		if err := d.Decode([]byte(line)); err != nil {
			var rejection *wire.Rejection
			require.ErrorAs(t, err, &rejection)
			refused = append(refused, err.Error())
		}
	}
	r := b.Finish()
	if r == nil {
		return nil, refused
	}
	defer r.Release()
	require.NoError(t, signal.CheckRecord(r))
	return wiretest.Rows(t, r), refused
}

// one decodes a line that must be accepted and returns its row without the time.
func one(t testing.TB, s signal.Signal, line string) wiretest.Row {
	t.Helper()
	rows, refused := decode(t, s, options(), line)
	require.Empty(t, refused, line)
	require.Len(t, rows, 1)
	delete(rows[0], wiretest.TimeKey)
	return rows[0]
}

func TestFields(t *testing.T) {
	t.Parallel()
	line := `{"b":true,"i":-3,"f":3.0,"s":"a\tb","o":{"x":1,"p":{"y":"z"},"e":{},"n":null},"e":{},` +
		`"l":[1, 2.50, {"k": null}],"_msg":"m","n":null,"o2":{"n":null}}`
	require.Equal(t, wiretest.Row{
		"b": "bool true", "i": "int64 -3", "f": "float64 3", "s": "string a\tb",
		"o.x": "int64 1", "o.p.y": "string z", "e": "json {}", "o.e": "json {}",
		"l": `json [1,2.50,{"k":null}]`, "_user_msg": "string m",
	}, one(t, signal.Logs, line))
	require.Empty(t, one(t, signal.Logs, `{"a":null}`))
}

// TestCollisions is case I01: whatever meets in one column, every value can be read back.
func TestCollisions(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]wiretest.Row{
		`{"a":{"b":1},"a.b":2,"a_b":3,"userName":"x","username":"y"}`: {
			"a.b": "int64 2", "a_b": "int64 3", "userName": "string x", "username": "string y", "_overflow": `json {"a.b":1}`,
		},
		`{"a.b":2,"a":{"b":"q\""}}`:      {"a.b": "int64 2", "_overflow": `json {"a.b":"q\""}`},
		`{"x":1,"x":2,"x":[3],"x":null}`: {"x": "int64 1", "_overflow": `json {"x":2,"x__2":[3]}`},
		`{"x":1,"x":2,"x":3,"x__2":4,"x__2":5}`: {
			"x": "int64 1", "x__2": "int64 4", "_overflow": `json {"x":2,"x__2":3,"x__2__2":5}`,
		},
		`{"a":{"b.c":1,"b":{"c":2}}}`:                  {"a.b.c": "int64 1", "_overflow": `json {"a.b.c":2}`},
		"{\"a\xff\":1,\"a\xfe\":1e400}":                {"a\uFFFD": "int64 1", "_overflow": "json {\"a\uFFFD\":1e400}"},
		`{"":1,"a":{"":2}}`:                            {"a.": "int64 2", "_overflow": `json {"":1}`},
		`{"a\u0000":1}`:                                {"_overflow": `json {"a\u0000":1}`},
		`{"_overflow":1,"_labels":2,"_user_labels":3}`: {"_user_overflow": "int64 1", "_user_labels": "int64 2", "_user_user_labels": "int64 3"},
	} {
		require.Equal(t, want, one(t, signal.Logs, line), line)
	}
	long := strings.Repeat("k", jsonrow.MaxColumnNameBytes+1)
	require.Equal(t, wiretest.Row{"_overflow": `json {"` + long + `":1}`}, one(t, signal.Logs, `{"`+long+`":1}`))
}

// TestNumbers is case I03.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{
		"9223372036854775807":  "int64 9223372036854775807",
		"9223372036854775808":  "string 9223372036854775808",
		"18446744073709551615": "string 18446744073709551615",
		"-9223372036854775809": "string -9223372036854775809",
		"1e400":                "string 1e400",
		"1e-400":               "string 1e-400",
		"0.70":                 "float64 0.7",
	} {
		require.Equal(t, wiretest.Row{"n": want}, one(t, signal.Logs, `{"n":`+token+`}`))
	}
}

// TestText is case I04.
func TestText(t *testing.T) {
	t.Parallel()
	rows, refused := decode(t, signal.Logs, options(), "{\"m\":\"bad\xffbyte\"}", `{"m":"\u0001"}`,
		"{\"m\":\"\xef\x81\x8a\"}", `{"m":"ok"}`, "{\"m\":\"\x01\"}", `{"m":"\ud800"}`)
	require.Equal(t, []string{"a control character in a string at byte 6"}, refused)
	var got []string
	for _, r := range rows {
		got = append(got, r["m"])
	}
	require.Equal(t, []string{"string bad\uFFFDbyte", "string \x01", "string \uf04a", "string ok", "string \uFFFD"}, got)
}

// TestTypesOfOneField is the decoder's part of case S02.
func TestTypesOfOneField(t *testing.T) {
	t.Parallel()
	rows, refused := decode(t, signal.Logs, options(),
		`{"level":3.0}`, `{"level":false}`, `{"level":"false"}`, `{"level":0}`, `{"level":null}`, `{"level":[1]}`, `{"level":{"x":1}}`)
	require.Empty(t, refused)
	var got []string
	for _, r := range rows {
		got = append(got, r["level"]+r["level.x"])
	}
	require.Equal(t, []string{"float64 3", "bool false", "string false", "int64 0", "", "json [1]", "int64 1"}, got)
}

// TestTimes is case T01 and the decoder's part of T02.
func TestTimes(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`1741600000.123456789`:         "1741600000123456789",
		`"1741600000.123456789"`:       "1741600000123456789",
		`1741600000123.5`:              "1741600000123500000",
		`1.7416e9`:                     "1741600000000000000",
		`1741600000123456789`:          "1741600000123456789",
		`"2024-07-29 14:57:14.415002"`: "1722265034415002000",
		`"2024-07-29T14:57:14+08:00"`:  "1722236234000000000",
		`"2016-12-31T23:59:60Z"`:       "1483228800000000000",
	} {
		rows, refused := decode(t, signal.Logs, options(), `{"m":1,"_timestamp":`+value+`}`)
		require.Empty(t, refused)
		require.Equal(t, []wiretest.Row{{wiretest.TimeKey: want, "m": "int64 1"}}, rows, value)
	}
	for value, reason := range map[string]string{
		`"2024-02-30T00:00:00Z"`: `_timestamp: "2024-02-30T00:00:00Z" is no time`,
		`"soon"`:                 `_timestamp: "soon" is no time`,
		`true`:                   `_timestamp: "true" is no time`,
		`[1]`:                    `_timestamp: "[1]" is no time`,
		`{}`:                     `_timestamp: "{}" is no time`,
		`1e400`:                  `_timestamp: time "1e400" is outside the years 1678 to 2262`,
	} {
		rows, refused := decode(t, signal.Logs, options(), `{"m":1,"_timestamp":`+value+`}`)
		require.Empty(t, rows)
		require.Len(t, refused, 1)
		require.Contains(t, refused[0], reason)
	}
}

func TestTimeField(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]wiretest.Row{
		`{"ts":5,"_time":4,"time":3,"timestamp":2,"@timestamp":1}`: {
			wiretest.TimeKey: "1000000000", "ts": "int64 5", "_user_time": "int64 4", "time": "int64 3", "timestamp": "int64 2",
		},
		`{"@timestamp":null,"time":3,"ts":"x"}`: {wiretest.TimeKey: "3000000000", "ts": "string x"},
		`{"a":{"time":"x"},"Timestamp":"y"}`:    {wiretest.TimeKey: at, "a.time": "string x", "Timestamp": "string y"},
		`{"ts":1,"ts":2}`:                       {wiretest.TimeKey: "1000000000", "ts": "int64 2"},
		`{"time":{"x":1}}`:                      {wiretest.TimeKey: at, "time.x": "int64 1"},
	} {
		rows, refused := decode(t, signal.Logs, options(), line)
		require.Empty(t, refused)
		require.Equal(t, []wiretest.Row{want}, rows, line)
	}
}

// TestTimeWindow is case T05.
func TestTimeWindow(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.MaxAge, opts.MaxFutureSkew = 7*24*time.Hour, 10*time.Minute
	rows, refused := decode(t, signal.Logs, opts,
		`{"time":"2019-01-01T00:00:00Z"}`, `{"time":"2026-11-01T12:00:00Z"}`, `{"time":"2026-11-01T14:00:00Z"}`,
		`{"time":"2026-10-25T12:00:00Z"}`, `{"time":"2026-11-01T12:10:00Z"}`, `{"time":"2026-11-01T12:10:00.000000001Z"}`)
	require.Len(t, rows, 3)
	require.Equal(t, []string{
		"time 2019-01-01T00:00:00Z is too old: the oldest accepted is 2026-10-25T12:00:00Z",
		"time 2026-11-01T14:00:00Z lies too far in the future: the newest accepted is 2026-11-01T12:10:00Z",
		"time 2026-11-01T12:10:00.000000001Z lies too far in the future: the newest accepted is 2026-11-01T12:10:00Z",
	}, refused)
}

func TestColumnCap(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.MaxColumns = 3
	rows, refused := decode(t, signal.Logs, opts,
		`{"a":1,"b":2}`, `{"b":1,"c":{"d":"x","e":[true]},"f":1.50,"g":false}`, `{"a":1,"f":"\u0007"}`)
	require.Empty(t, refused)
	require.Equal(t, []wiretest.Row{
		{wiretest.TimeKey: at, "a": "int64 1", "b": "int64 2"},
		{wiretest.TimeKey: at, "b": "int64 1", "c.d": "string x", "_overflow": `json {"c.e":[true],"f":1.50,"g":false}`},
		{wiretest.TimeKey: at, "a": "int64 1", "_overflow": `json {"f":"\u0007"}`},
	}, rows)
}

func TestDepth(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	require.Equal(t, wiretest.Row{strings.Repeat("a.", 15) + "a": "int64 1"}, one(t, signal.Logs, nested(16)))
	require.Equal(t, wiretest.Row{strings.Repeat("a.", 15) + "a": `json {"a":{"a":1}}`}, one(t, signal.Logs, nested(18)))
	require.Len(t, one(t, signal.Logs, nested(64)), 1)
	_, refused := decode(t, signal.Logs, options(), nested(65))
	require.Len(t, refused, 1)
	require.Contains(t, refused[0], "nested too deep")
}

func TestTooManyFields(t *testing.T) {
	t.Parallel()
	fields := make(map[string]int)
	for i := range jsonrow.MaxFields + 1 {
		fields[fmt.Sprint(i)] = i
	}
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	_, refused := decode(t, signal.Logs, options(), string(text))
	require.Equal(t, []string{"the row has more than 10000 fields"}, refused)
}

func TestSamples(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]wiretest.Row{
		`{"value":1.5,"host":"b","app":"a","n":1,"x":{"y":true},"l":[1, 2],"empty":"","z":null,"ts":7}`: {
			wiretest.TimeKey: "7000000000", "value": "float64 1.5", "_labels": `json {"app":"a","host":"b","l":"[1,2]","n":"1","x.y":"true"}`,
		},
		`{"value":3,"__name__":"s1","_hidden":"h"}`: {wiretest.TimeKey: at, "value": "float64 3", "_labels": `json {"_hidden":"h"}`},
		`{"value":"NaN"}`:  {wiretest.TimeKey: at, "value": "float64 NaN", "_labels": `json {}`},
		`{"value":"-Inf"}`: {wiretest.TimeKey: at, "value": "float64 -Inf", "_labels": `json {}`},
		`{"value":1,"a":{"b":"x"},"a.b":"y","a.b":"z"}`: {
			wiretest.TimeKey: at, "value": "float64 1", "_labels": `json {"a.b":"y"}`, "_overflow": `json {"a.b":"z","a.b__2":"x"}`,
		},
	} {
		rows, refused := decode(t, signal.Metrics, options(), line)
		require.Empty(t, refused, line)
		want["_metric"] = "string s1"
		require.Equal(t, []wiretest.Row{want}, rows, line)
	}
	for line, reason := range map[string]string{
		`{"host":"a"}`:                   "a sample needs a number",
		`{"value":null}`:                 "a sample needs a number",
		`{"value":"1"}`:                  `"value" is "1"`,
		`{"value":true}`:                 `"value" is "true"`,
		`{"value":{"x":1}}`:              "a sample needs a number",
		`{"value":1e400}`:                `"value" is "1e400"`,
		`{"value":1,"__name__":"other"}`: `__name__ is "other"`,
		`{"value":1,"time":"x"}`:         "is no time",
	} {
		rows, refused := decode(t, signal.Metrics, options(), line)
		require.Empty(t, rows)
		require.Len(t, refused, 1)
		require.Contains(t, refused[0], reason, line)
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	const ids = `"trace_id":"0AF7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331"`
	want := func(more wiretest.Row) wiretest.Row {
		row := wiretest.Row{"trace_id": "string 0af7651916cd43dd8448eb211c80319c", "span_id": "string b7ad6b7169203331"}
		maps.Copy(row, more)
		return row
	}
	for line, more := range map[string]wiretest.Row{
		`{` + ids + `,"name":"GET /","start":"2026-11-01T00:00:00Z","end":"2026-11-01T00:00:00.0015000009Z",` +
			`"parent_span_id":"00000000000000AB","http":{"code":200}}`: {
			wiretest.TimeKey: "1793491200000000000", "name": "string GET /", "end": "timestamp 1793491200001500", "duration_ns": "int64 1500000",
			"parent_span_id": "string 00000000000000ab", "http.code": "int64 200",
		},
		`{` + ids + `,"start":1793491200,"duration":1500}`: {
			wiretest.TimeKey: "1793491200000000000", "end": "timestamp 1793491200000001", "duration_ns": "int64 1500",
		},
		`{` + ids + `,"start":1793491200,"duration":"1.5ms","time":"x"}`: {
			wiretest.TimeKey: "1793491200000000000", "end": "timestamp 1793491200001500", "duration_ns": "int64 1500000", "time": "string x",
		},
		`{` + ids + `,"time":1793491200,"duration_ns":1,"parent_span_id":""}`: {
			wiretest.TimeKey: "1793491200000000000", "end": "timestamp 1793491200000000", "duration_ns": "int64 1",
		},
		`{` + ids + `}`: {wiretest.TimeKey: at},
		`{` + ids + `,"start":2,"end":1,"end":5}`: {
			wiretest.TimeKey: "2000000000", "end": "timestamp 1000000", "duration_ns": "int64 -1000000000", "_overflow": `json {"end":5}`,
		},
	} {
		rows, refused := decode(t, signal.Traces, options(), line)
		require.Empty(t, refused, line)
		require.Equal(t, []wiretest.Row{want(more)}, rows, line)
	}
	for line, reason := range map[string]string{
		`{"span_id":"b7ad6b7169203331"}`:                                               "a span needs trace_id and span_id",
		`{"trace_id":"00000000000000000000000000000000","span_id":"b7ad6b7169203331"}`: "is not 32 hexadecimal digits",
		`{"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b716920333"}`:  "is not 16 hexadecimal digits",
		`{"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":1234567890123456}`:   "is not 16 hexadecimal digits",
		`{` + ids + `,"parent_span_id":"x"}`:                                           `parent_span_id "x" is not 16`,
		`{` + ids + `,"start":"x"}`:                                                    `start: "x" is no time`,
		`{` + ids + `,"end":"x"}`:                                                      `end: "x" is no time`,
		`{` + ids + `,"duration":"fast"}`:                                              `duration "fast" is no duration`,
		`{` + ids + `,"duration":1.5}`:                                                 `duration "1.5" is no duration`,
		`{` + ids + `,"duration":9223372036854775807}`:                                 "ends after the year 2262",
	} {
		rows, refused := decode(t, signal.Traces, options(), line)
		require.Empty(t, rows)
		require.Len(t, refused, 1)
		require.Contains(t, refused[0], reason, line)
	}
}
