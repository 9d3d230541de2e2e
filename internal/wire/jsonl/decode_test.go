package jsonl_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/jsonl"
	"github.com/millstream/millstream/internal/wire/wiretest"
)

// received is the time of receipt in all tests; at is the same in nanoseconds.
//
//nolint:gochecknoglobals // a constant
var received = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const at = "1793534400000000000"

func stream() signal.Stream {
	return signal.Stream{Org: tenant.ID("t1"), Database: signal.DefaultDatabase, Signal: signal.Logs, Name: "s1"}
}

func decode(t *testing.T, body string, opts wire.Options) (*wiretest.Collector, wire.Result, error) {
	t.Helper()
	c := &wiretest.Collector{T: t}
	opts.ReceivedAt = received
	result, err := jsonl.Decode(strings.NewReader(body), stream(), opts, c.Emit)
	require.Equal(t, c.Total(), result.Accepted)
	// The same bytes one by one give the same.
	slow := &wiretest.Collector{T: t}
	again, slowErr := jsonl.Decode(iotest.OneByteReader(strings.NewReader(body)), stream(), opts, slow.Emit)
	require.Equal(t, result, again)
	require.Equal(t, err == nil, slowErr == nil)
	require.Equal(t, c.All, slow.All)
	return c, result, err
}

// TestBodies is case I10 and the forms of bodies.
func TestBodies(t *testing.T) {
	t.Parallel()
	one := []wiretest.Row{{wiretest.TimeKey: at, "m": "int64 1"}}
	for _, tc := range []struct {
		name, body string
		rows       []wiretest.Row
		rejected   []string
		err        fault.Kind
	}{
		{name: "empty"},
		{name: "blank", body: "\n\n"},
		{name: "spaces", body: " \t\r\n \r\n"},
		{name: "mark only", body: "\xef\xbb\xbf"},
		{name: "empty array", body: "[]"},
		{name: "empty array, spread", body: "\xef\xbb\xbf [ \n ] \n"},
		{name: "empty object", body: "{}", rejected: []string{"line 1: the object has no fields"}},
		{name: "array", body: `[{"m":1}]`, rows: one},
		{name: "line", body: `{"m":1}` + "\n", rows: one},
		{name: "no last newline", body: `{"m":1}`, rows: one},
		{name: "carriage return", body: "{\"m\":1}\r\n\r\n", rows: one},
		{name: "mark", body: "\xef\xbb\xbf{\"m\":1}", rows: one},
		{name: "null", body: "null", rejected: []string{`line 1: a row is a JSON object, this is "null"`}},
		{name: "string", body: `"x"`, rejected: []string{`line 1: a row is a JSON object, this is "\"x\""`}},
		{name: "number", body: `12`, rejected: []string{`line 1: a row is a JSON object, this is "12"`}},
		{name: "NaN", body: `{"m":NaN}`, rejected: []string{"line 1: a value is missing at byte 5"}},
		{name: "words", body: "hello\n{\"m\":1}\n", rows: one, rejected: []string{"line 1: a value is missing at byte 0"}},
		{
			name: "array in lines", body: "{\"m\":1}\n[{\"m\":2}]", rows: one,
			rejected: []string{`line 2: a row is a JSON object, this is "[{\"m\":2}]"`},
		},
		{name: "two on a line", body: `{"m":1}{"m":2}`, rejected: []string{"line 1: text after the end of the value at byte 7"}},
		{name: "cut line", body: `{"m":1`, rejected: []string{"line 1: unexpected end of JSON at byte 6"}},
		{name: "line numbers", body: "\n{\"m\":1}\n\n\nx\n", rows: one, rejected: []string{"line 5: a value is missing at byte 0"}},
		{name: "pretty object", body: "{\n  \"m\": 1\n}\n", rows: one},
		{
			name: "pretty objects", body: "{\n  \"m\": 1\n}\n{\n  \"x\": }\n", rows: one,
			rejected: []string{"element 1: a value is missing at byte 9"},
		},
		{name: "pretty object, cut", body: "{\n  \"m\": 1\n", err: fault.Invalid},
		{
			name: "array of all sorts", body: "[null, 1,\n \"a]\\\"\", [{}], {\"m\":1} , {\"m\":\"\\q\"}, {\"m\":\"]\\\\\"}]",
			rows: append(one[:1:1], wiretest.Row{wiretest.TimeKey: at, "m": `string ]\`}),
			rejected: []string{
				`element 0: a row is a JSON object, this is "null"`, `element 1: a row is a JSON object, this is "1"`,
				`element 2: a row is a JSON object, this is "\"a]\\\"\""`, `element 3: a row is a JSON object, this is "[{}]"`,
				"element 5: an unknown escape in a string at byte 6",
			},
		},
		{name: "array, cut", body: `[{"m":1}`, err: fault.Invalid},
		{name: "array, cut in a string", body: `[{"m":"a`, err: fault.Invalid},
		{name: "array, no comma", body: `[{"m":1}{"m":2}]`, err: fault.Invalid},
		{name: "array, comma at the end", body: `[{"m":1},]`, err: fault.Invalid},
		{name: "array, only a comma", body: `[,]`, err: fault.Invalid},
		{name: "array, more behind", body: `[{"m":1}] x`, err: fault.Invalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, result, err := decode(t, tc.body, wire.Options{})
			if tc.err != 0 {
				require.True(t, fault.Is(err, tc.err), "%v", err)
				require.Zero(t, result.Accepted)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.rows, c.All)
			require.Equal(t, len(tc.rejected), result.Rejected)
			require.Equal(t, result.Accepted+result.Rejected, result.Settled)
			for i, reason := range tc.rejected {
				require.Equal(t, reason, result.Errors[i].Reason)
			}
		})
	}
}

// TestLongLines is case I06.
func TestLongLines(t *testing.T) {
	t.Parallel()
	long := `{"m":"` + strings.Repeat("x", 5<<20) + `"}`
	for name, body := range map[string]string{
		"between": "{\"a\":1}\n" + long + "\n{\"b\":1}\n",
		"array":   "[{\"a\":1}, " + long + ",{\"b\":1}]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &wiretest.Collector{T: t}
			result, err := jsonl.Decode(strings.NewReader(body), stream(), wire.Options{ReceivedAt: received}, c.Emit)
			require.NoError(t, err)
			require.Equal(t, []wiretest.Row{{wiretest.TimeKey: at, "a": "int64 1"}, {wiretest.TimeKey: at, "b": "int64 1"}}, c.All)
			require.Len(t, result.Errors, 1)
			require.Equal(t, 1, result.Errors[0].Index)
			require.Contains(t, result.Errors[0].Reason, fmt.Sprintf("has %d bytes, the limit is 1048576", len(long)))
			require.Equal(t, 1, result.Causes[wire.LineTooLong])
			require.EqualValues(t, len(long), result.LongestBytes)
		})
	}
	t.Run("at the end", func(t *testing.T) {
		t.Parallel()
		c := &wiretest.Collector{T: t}
		result, err := jsonl.Decode(strings.NewReader("{\"a\":1}\n"+long), stream(), wire.Options{ReceivedAt: received}, c.Emit)
		require.NoError(t, err)
		require.Equal(t, 1, result.Accepted)
		require.Equal(t, 1, result.Rejected)
	})
	t.Run("exactly the limit", func(t *testing.T) {
		t.Parallel()
		line := `{"a":1}`
		for limit := len(line) - 2; limit <= len(line)+1; limit++ {
			for _, end := range []string{"", "\n", "\r\n"} {
				_, result, err := decode(t, line+end, wire.Options{MaxLineBytes: limit})
				require.NoError(t, err)
				require.Equal(t, limit >= len(line), result.Accepted == 1)
				require.Equal(t, limit < len(line), result.LongestBytes == int64(len(line)))
			}
		}
	})
}

func TestChunks(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("{\"a\":1}\n", 45_000)
	c, result, err := decode(t, body, wire.Options{})
	require.NoError(t, err)
	require.Equal(t, []int{20_000, 20_000, 5_000}, c.Sizes)
	require.Equal(t, 45_000, result.Settled)

	c = &wiretest.Collector{T: t, Discard: true}
	body = strings.Repeat("{\"a\":\""+strings.Repeat("x", 500<<10)+"\"}\n", 40)
	_, err = jsonl.Decode(strings.NewReader(body), stream(), wire.Options{ReceivedAt: received}, c.Emit)
	require.NoError(t, err)
	for _, n := range c.Sizes {
		require.LessOrEqual(t, n*500<<10, wire.MaxChunkBytes)
	}
}

// TestWideRows bounds the memory of absent values.
func TestWideRows(t *testing.T) {
	t.Parallel()
	var body bytes.Buffer
	for i := range 30_000 {
		fmt.Fprintf(&body, "{\"f%d\":1}\n", i%2000)
	}
	c := &wiretest.Collector{T: t, Discard: true}
	c.Fail = func(b *signal.Batch) error {
		require.LessOrEqual(t, b.Rows()*int(b.Record.NumCols()), 2_100_000)
		require.LessOrEqual(t, int(b.Record.NumCols()), 1000+3)
		return nil
	}
	result, err := jsonl.Decode(&body, stream(), wire.Options{ReceivedAt: received}, c.Emit)
	require.NoError(t, err)
	require.Equal(t, 30_000, result.Accepted)
}

func TestEmitErrorEndsDecoding(t *testing.T) {
	t.Parallel()
	refused := fault.New(fault.Limited, "no")
	c := &wiretest.Collector{T: t}
	c.Fail = func(*signal.Batch) error {
		if len(c.Sizes) == 1 {
			return refused
		}
		return nil
	}
	body := "x\n" + strings.Repeat("{\"a\":1}\n", 45_000)
	result, err := jsonl.Decode(strings.NewReader(body), stream(), wire.Options{ReceivedAt: received}, c.Emit)
	require.ErrorIs(t, err, refused)
	require.Equal(t, 20_000, result.Accepted)
	require.Equal(t, 20_001, result.Settled)
}

func TestReaderErrors(t *testing.T) {
	t.Parallel()
	limited := fault.New(fault.Limited, "over the rate")
	for _, tc := range []struct {
		err  error
		kind fault.Kind
	}{{errors.New("reset by peer"), fault.Invalid}, {limited, fault.Limited}} {
		for _, body := range []string{"", "{", "[", "[1", "{\"a\":1}\n", strings.Repeat("x", 3<<20)} {
			r := io.MultiReader(strings.NewReader(body), iotest.ErrReader(tc.err))
			result, err := jsonl.Decode(r, stream(), wire.Options{ReceivedAt: received}, (&wiretest.Collector{T: t}).Emit)
			require.True(t, fault.Is(err, tc.kind), "%q: %v", body[:min(10, len(body))], err)
			whole := 0 // rows before a refusal by rate are stored, of a connection that broke they are not
			if tc.kind == fault.Limited {
				whole = strings.Count(body, "\n")
			}
			require.Equal(t, whole, result.Accepted)
			require.Equal(t, whole, result.Settled)
		}
	}
}

func TestArrayAboveTheBodyLimit(t *testing.T) {
	t.Parallel()
	body := "[" + strings.Repeat(`{"a":1},`, 10_000) + `{"a":1}]`
	_, _, err := decode(t, body, wire.Options{MaxBodyBytes: int64(len(body))})
	require.NoError(t, err)
	_, _, err = decode(t, body, wire.Options{MaxBodyBytes: int64(len(body) - 1)})
	require.True(t, fault.Is(err, fault.TooLarge))
	_, _, err = decode(t, strings.Repeat("{\"a\":1}\n", 100), wire.Options{MaxBodyBytes: 10})
	require.NoError(t, err, "JSON lines have no total")
}
