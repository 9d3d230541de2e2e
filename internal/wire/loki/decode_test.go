package loki_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/loki"
	"github.com/millstream/millstream/internal/wire/wiretest"
)

const at = "1793534400000000000" // the time of receipt

func options() wire.Options {
	return wire.Options{ReceivedAt: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
}

func stream() signal.Stream {
	return signal.Stream{Org: tenant.ID("t1"), Database: signal.DefaultDatabase, Signal: signal.Logs, Name: signal.DefaultLoki}
}

func decodeJSON(t testing.TB, body string, opts wire.Options) (*wiretest.Collector, wire.Result, error) {
	t.Helper()
	c := &wiretest.Collector{T: t}
	result, err := loki.DecodeJSON([]byte(body), stream(), opts, c.Emit)
	require.Equal(t, c.Total(), result.Accepted)
	return c, result, err
}

// push is one stream of a request.
type push struct {
	labels  string
	entries []line
}

type line struct {
	nanos    int64
	text     string
	metadata []string // name, value, …
}

func encode(pushes ...push) []byte {
	var out []byte
	for _, p := range pushes {
		var s []byte
		for _, l := range p.entries {
			var ts, e []byte
			ts = protowire.AppendVarint(protowire.AppendTag(ts, 1, protowire.VarintType), uint64(l.nanos/1e9))
			ts = protowire.AppendVarint(protowire.AppendTag(ts, 2, protowire.VarintType), uint64(l.nanos%1e9))
			e = protowire.AppendBytes(protowire.AppendTag(e, 1, protowire.BytesType), ts)
			e = protowire.AppendString(protowire.AppendTag(e, 2, protowire.BytesType), l.text)
			for i := 0; i < len(l.metadata); i += 2 {
				var m []byte
				m = protowire.AppendString(protowire.AppendTag(m, 1, protowire.BytesType), l.metadata[i])
				m = protowire.AppendString(protowire.AppendTag(m, 2, protowire.BytesType), l.metadata[i+1])
				e = protowire.AppendBytes(protowire.AppendTag(e, 3, protowire.BytesType), m)
			}
			s = protowire.AppendBytes(protowire.AppendTag(s, 2, protowire.BytesType), e)
		}
		// Behind the entries, where protobuf allows them too.
		s = protowire.AppendString(protowire.AppendTag(s, 1, protowire.BytesType), p.labels)
		s = protowire.AppendVarint(protowire.AppendTag(s, 3, protowire.VarintType), 12345)
		out = protowire.AppendBytes(protowire.AppendTag(out, 1, protowire.BytesType), s)
	}
	return out
}

func TestEntries(t *testing.T) {
	t.Parallel()
	want := []wiretest.Row{
		{
			wiretest.TimeKey: "1793534400000000001", "_labels": `json {"app":"a","env":"p\"\n"}`, "app": "string a", "env": "string p\"\n",
			"message": "string one", "trace_id": "string t", "metadata.app": "string m", "metadata.message": "string mm", "a_b": "string x",
			"_overflow": `json {"app":"second"}`,
		},
		{
			wiretest.TimeKey: "1793534400000000001", "_labels": `json {"app":"a","env":"p\"\n"}`, "app": "string a", "env": "string p\"\n",
			"message": "string one",
		},
		{wiretest.TimeKey: "5", "_labels": `json {"_x":"y","message":"label"}`, "_user_x": "string y", "message": "string "},
	}
	for name, body := range map[string]string{
		"values": `{"streams":[{"stream":{"env":"p\"\n","app":"a","gone":""},"values":[["1793534400000000001","one",
			{"trace_id":"t","app":"m","message":"mm","a.b":"x","n":null,"app":"second"}],["1793534400000000001","one"]]},
			{"values":[["5",""]],"stream":{"message":"label","_x":"y"},"other":[1]}],"more":{}}`,
	} {
		c, result, err := decodeJSON(t, body, options())
		require.NoError(t, err, name)
		require.Equal(t, want, c.All, name)
		require.Zero(t, result.Rejected)
	}
	c := &wiretest.Collector{T: t}
	_, err := loki.DecodeProtobuf(encode(
		push{labels: "{app=\"a\", env=\"p\\\"\\n\", gone=``}", entries: []line{
			{nanos: 1793534400000000001, text: "one", metadata: []string{"trace_id", "t", "app", "m", "message", "mm", "a.b", "x", "app", "second"}},
			{nanos: 1793534400000000001, text: "one"},
		}},
		push{labels: `{message="label",_x='y',}`, entries: []line{{nanos: 5}}},
	), stream(), options(), c.Emit)
	require.NoError(t, err)
	require.Equal(t, want, c.All)
}

func TestLegacyJSON(t *testing.T) {
	t.Parallel()
	c, result, err := decodeJSON(t, `{"streams":[{"labels":"{app=\"a\"}","entries":[
		{"ts":"2026-11-01T00:00:00.000000001Z","line":"x\ny","odd":["\n"]},{"line":"z"},{"ts":"soon","line":"z"}]}]}`, options())
	require.NoError(t, err)
	require.Equal(t, []wiretest.Row{
		{wiretest.TimeKey: "1793491200000000001", "_labels": `json {"app":"a"}`, "app": "string a", "message": "string x\ny"},
		{wiretest.TimeKey: at, "_labels": `json {"app":"a"}`, "app": "string a", "message": "string z"},
	}, c.All)
	require.Contains(t, result.Errors[0].Reason, `stream {"app":"a"}: "soon" is no time`)
}

// TestWholeRequests are refused as a whole.
func TestWholeRequests(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"", "null", "[]", "{}", `{"streams":[]}`, `{"streams":null}`, `{"streams":[1]}`,
		`{"streams":[{"stream":{"a":1},"values":[]}]}`, "\xef\xbb\xbf{\"m\":1}",
		`{"streams":[{"stream":{"a":"b"},"values":[[1793534400000000001,"x"]]}]}`, `{"streams":[{"stream":{"a":"b"},"values":[["now","x"]]}]}`,
		`{"streams":[{"stream":{"a":"b"},"values":[["1"]]}]}`, `{"streams":[{"stream":{"a":"b"},"values":[["1","x",{},1]]}]}`,
		`{"streams":[{"stream":{"a":"b"},"values":[["1",2]]}]}`,
		`{"streams":[{"stream":{"a":"b"},"values":[["1","x"]]}]} x`, `{"streams":[{"stream":{"a":"b"},"values":[["1","x"`,
	} {
		_, result, err := decodeJSON(t, body, options())
		require.True(t, fault.Is(err, fault.Invalid), "%q: %v", body, err)
		require.Zero(t, result.Accepted)
	}
	for _, body := range [][]byte{nil, []byte("\xff"), []byte("{}"), encode(push{labels: "{}"})[:3]} {
		_, err := loki.DecodeProtobuf(body, stream(), options(), (&wiretest.Collector{T: t}).Emit)
		require.True(t, fault.Is(err, fault.Invalid), "%q: %v", body, err)
	}
}

// TestRefusedEntries is case T05 and the rest of what is refused by entry: valid entries of the same request are stored.
func TestRefusedEntries(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.MaxAge, opts.MaxFutureSkew, opts.MaxLineBytes = 7*24*time.Hour, 10*time.Minute, 100
	nano := func(s string) string {
		v, err := time.Parse(time.RFC3339, s)
		require.NoError(t, err)
		return fmt.Sprint(v.UnixNano())
	}
	c, result, err := decodeJSON(t, `{"streams":[{"stream":{"a":"b"},"values":[
		["`+nano("2019-01-01T00:00:00Z")+`","old"],["`+nano("2019-01-02T00:00:00Z")+`","old"],["`+at+`","now"],
		["`+nano("2026-11-01T14:00:00Z")+`","new"],["`+at+`","`+strings.Repeat("x", 101)+`"]]},
		{"stream":{"a-b":"c"},"values":[["`+at+`","x"]]},{"stream":{"a":""},"values":[["`+at+`","x"]]}]}`, opts)
	require.NoError(t, err)
	require.Len(t, c.All, 1)
	require.Equal(t, "string now", c.All[0]["message"])
	require.Equal(t, 6, result.Rejected)
	require.Equal(t, 7, result.Settled)
	require.Equal(t, strings.Join([]string{
		`2 errors like: stream {"a":"b"}: time 2019-01-01T00:00:00Z is too old: the oldest accepted is 2026-10-25T12:00:00Z`,
		`stream {"a":"b"}: time 2026-11-01T14:00:00Z lies too far in the future: the newest accepted is 2026-11-01T12:10:00Z`,
		`a line of stream {"a":"b"} has 101 bytes, the limit is 100 (max_line_size)`,
		`2 errors like: label name "a-b" is not allowed (letters, digits and _ are, no digit first)`,
	}, "\n"), result.Summary())
	require.Equal(t, 6, result.Errors[5].Index)
	require.Equal(t, "a stream needs at least one label", result.Errors[5].Reason)
}

func TestLabelText(t *testing.T) {
	t.Parallel()
	labels := func(text string) (string, string) {
		c := &wiretest.Collector{T: t}
		result, err := loki.DecodeProtobuf(encode(push{labels: text, entries: []line{{nanos: 1, text: "x"}}}), stream(), options(), c.Emit)
		require.NoError(t, err)
		if result.Rejected > 0 {
			return "", result.Errors[0].Reason
		}
		return c.All[0]["_labels"], ""
	}
	for text, want := range map[string]string{
		`{a="b"}`:                    `{"a":"b"}`,
		` { a = "b" , _c9 = 'd', } `: `{"_c9":"d","a":"b"}`,
		"{a=`\\n\"`}":                `{"a":"\\n\""}`,
		`{a="\\\"\t\x41\u00e9\101"}`: `{"a":"\\\"\tAéA"}`,
		`{a='"\''}`:                  `{"a":"\"'"}`,
		"{a=\"\xff\\xff,}=\"}":       "{\"a\":\"\uFFFD\uFFFD,}=\"}",
		"{a=\"\xef\x81\x8a\u0001\"}": `{"a":"` + "\uf04a" + `\u0001"}`,
	} {
		got, reason := labels(text)
		require.Empty(t, reason, text)
		require.Equal(t, "json "+want, got, text)
	}
	for text, want := range map[string]string{
		``:               `labels "": { is expected at byte 0`,
		`{}`:             `at least one label`,
		`{a}`:            `= is expected at byte 2`,
		`{a!="b"}`:       `= is expected at byte 2`,
		`{a=~"b"}`:       `a value in quotes is expected at byte 3`,
		`{a="b}`:         `a value in quotes is expected at byte 3`,
		`{a="\q"}`:       `a value in quotes`,
		`{a="b" c="d"}`:  `a comma or } is expected at byte 7`,
		`{a="b"} x`:      `the end is expected at byte 8`,
		`{"a.b"="c"}`:    `a label name is expected`,
		`{9a="c"}`:       `label name "9a" is not allowed`,
		`{a="b",a="c"}`:  `label "a" is there twice`,
		"{a=\"b\"}\x00":  `the end is expected`,
		"{a=\"b\",\x00}": `a label name is expected`,
	} {
		_, reason := labels(text)
		require.Contains(t, reason, want, text)
	}
}

func TestColumnCap(t *testing.T) {
	t.Parallel()
	opts := options()
	opts.MaxColumns = 3
	c, _, err := decodeJSON(t, `{"streams":[{"stream":{"a":"1","b":"2","c":"3"},"values":[["1","x",{"c":"5","d":"4"}]]}]}`, opts)
	require.NoError(t, err)
	require.Equal(t, []wiretest.Row{{
		wiretest.TimeKey: "1", "_labels": `json {"a":"1","b":"2","c":"3"}`, "a": "string 1", "b": "string 2", "message": "string x",
		"_overflow": `json {"c":"5","d":"4"}`,
	}}, c.All)
}

func TestUnsnappy(t *testing.T) {
	t.Parallel()
	plain, err := loki.Unsnappy(snappy.Encode(nil, []byte("abc")), 3)
	require.NoError(t, err)
	require.Equal(t, "abc", string(plain))
	_, err = loki.Unsnappy(snappy.Encode(nil, []byte("abcd")), 3)
	require.True(t, fault.Is(err, fault.TooLarge))
	_, err = loki.Unsnappy([]byte("\377\377\377\377\017x"), 64<<20) // case I08: the header alone states 4 GiB
	require.True(t, fault.Is(err, fault.TooLarge))
	_, err = loki.Unsnappy([]byte("\x05x"), 64<<20)
	require.True(t, fault.Is(err, fault.Invalid))
	_, err = loki.Unsnappy(nil, 64<<20)
	require.True(t, fault.Is(err, fault.Invalid))
}

func TestEmitError(t *testing.T) {
	t.Parallel()
	refused := fault.New(fault.Limited, "no")
	c := &wiretest.Collector{T: t, Fail: func(*signal.Batch) error { return refused }}
	_, err := loki.DecodeJSON([]byte(`{"streams":[{"stream":{"a":"1"},"values":[["1","x"]]}]}`), stream(), options(), c.Emit)
	require.ErrorIs(t, err, refused)
}

func FuzzDecodeJSON(f *testing.F) {
	for _, s := range []string{
		`{"streams":[{"stream":{"a":"1"},"values":[["1","x",{"c":"5","c":"4"}],["2",""]]}]}`,
		`{"streams":[{"entries":[{"ts":"2026-11-01T00:00:00Z","line":"x\n"}],"labels":"{a=\"b\\n\"}"}]}`,
		`{"streams":[{"stream":null,"values":null}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		checkResult(t, body, loki.DecodeJSON)
	})
}

func FuzzDecodeProtobuf(f *testing.F) {
	f.Add(encode(push{labels: `{a="b"}`, entries: []line{{nanos: 1e18, text: "x", metadata: []string{"k", "v", "k", "w"}}}}))
	f.Add(encode(push{labels: "{a=`b`,c='\\x41'}"}))
	f.Fuzz(func(t *testing.T, body []byte) {
		checkResult(t, body, loki.DecodeProtobuf)
	})
}

func checkResult(t *testing.T, body []byte, decode func([]byte, signal.Stream, wire.Options, wire.Emit) (wire.Result, error)) {
	t.Helper()
	opts := options()
	opts.MaxLineBytes, opts.MaxColumns = 64, 5
	c := &wiretest.Collector{T: t}
	result, err := decode(body, stream(), opts, c.Emit)
	require.Equal(t, c.Total(), result.Accepted)
	if err != nil {
		require.Equal(t, fault.Invalid, fault.KindOf(err))
		return
	}
	require.Equal(t, result.Settled, result.Accepted+result.Rejected)
	for _, row := range c.All {
		require.Contains(t, row, "message")
		require.Contains(t, row, "_labels")
	}
}
