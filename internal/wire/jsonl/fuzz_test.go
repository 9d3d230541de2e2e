package jsonl_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/jsonl"
	"github.com/millstream/millstream/internal/wire/wiretest"
)

// FuzzDecode decodes any body as each signal: nothing panics, every row is accounted for, what is emitted is well formed, and it
// makes no difference how the bytes arrive.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"{\"a\":1}\n{\"a\":{\"b\":[1]},\"a.b\":2}\r\n\nx\n", `[{"a":1},{"value":2.5,"time":"2026-01-01T00:00:00Z"},null,"]"]`,
		"{\n\"a\":1\n}\n{}",
		"\xef\xbb\xbf",
		`{"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331","start":1,"end":2.5,"duration":"1s"}`,
		`[{"a":"\ud800`, `[[[1],{}],{"a":1}]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, sig := range signal.All() {
			s := stream()
			s.Signal = sig
			opts := wire.Options{ReceivedAt: received, MaxLineBytes: 128, MaxColumns: 5, MaxBodyBytes: 1 << 20}
			c := &wiretest.Collector{T: t}
			result, err := jsonl.Decode(bytes.NewReader(body), s, opts, c.Emit)
			require.Equal(t, c.Total(), result.Accepted)
			if err != nil {
				require.Equal(t, fault.Invalid, fault.KindOf(err))
			} else {
				require.Equal(t, result.Settled, result.Accepted+result.Rejected)
			}
			slow := &wiretest.Collector{T: t}
			again, slowErr := jsonl.Decode(iotest.OneByteReader(bytes.NewReader(body)), s, opts, slow.Emit)
			require.Equal(t, result, again)
			require.Equal(t, err == nil, slowErr == nil)
			require.Equal(t, c.All, slow.All)
		}
	})
}

// FuzzLines holds single lines against encoding/json: an object that it reads is stored, nothing else is.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		`{"a":1}`, `{"a":{"b":null}}`, `{"a":"\ud83d\ude00"}`, `{"a":01}`, `[]`, `{"a":1}x`, `{"time":1}`, "{\"a\":\"\xff\"}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\n") || strings.HasPrefix(line, "\xef\xbb\xbf") || strings.HasPrefix(strings.TrimLeft(line, " \t\r"), "[") {
			return
		}
		c := &wiretest.Collector{T: t}
		result, err := jsonl.Decode(strings.NewReader("{\"first\":1}\n"+line+"\n"), stream(), wire.Options{ReceivedAt: received}, c.Emit)
		require.NoError(t, err)
		if strings.Trim(line, " \t\r") == "" {
			require.Equal(t, 1, result.Settled)
			return
		}
		var want map[string]json.RawMessage // a number beyond float64 is JSON all the same
		ok := json.Unmarshal([]byte(line), &want) == nil && len(want) > 0
		if result.Rejected > 0 && ok {
			reason := result.Errors[0].Reason
			require.Regexp(t, "is no time|outside the years|nested too deep", reason)
			return
		}
		require.Equal(t, ok, result.Accepted == 2, "%v", result.Errors)
	})
}
