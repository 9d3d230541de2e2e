package esbulk_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/esbulk"
	"github.com/millstream/millstream/internal/wire/wiretest"
)

func options() wire.Options {
	return wire.Options{ReceivedAt: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
}

func request(index string) esbulk.Request {
	return esbulk.Request{Org: tenant.ID("t1"), Database: signal.DefaultDatabase, Index: index, NewID: func() string { return "made" }}
}

func decode(t *testing.T, index, body string, c *wiretest.Collector) (esbulk.Response, error) {
	t.Helper()
	resp, err := esbulk.Decode(iotest.HalfReader(strings.NewReader(body)), request(index), options(), c.Emit)
	require.Equal(t, c.Total(), resp.Result.Accepted)
	return resp, err
}

// statuses shows items as "status type".
func statuses(items []esbulk.Item) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = strings.TrimSpace(fmt.Sprint(item.Status, " ", item.ErrorType))
	}
	return out
}

// refused is an item of stream s1 with status 400.
func refused(action, id, errorType, reason string) esbulk.Item {
	return esbulk.Item{Action: action, Index: "s1", ID: id, Status: 400, ErrorType: errorType, Reason: reason}
}

// TestItems is case I05.
func TestItems(t *testing.T) {
	t.Parallel()
	const create = `{"create":{}}` + "\n"
	body := create + `{"m":"good 1"}` + "\n" + create + `{"m":"\q"}` + "\n" + create + `{"m":"good 2"}` + "\n" +
		create + `{"m":"` + strings.Repeat("x", 2<<20) + `"}` + "\n" + create + `{"m":"good 3"}`
	c := &wiretest.Collector{T: t}
	resp, err := decode(t, "s1", body, c)
	require.NoError(t, err)
	require.NoError(t, resp.Refused)
	require.Equal(t, []string{"201", "400 mapper_parsing_exception", "201", "413 document_too_large_exception", "201"}, statuses(resp.Items))
	require.Equal(t, "line 4: an unknown escape in a string at byte 6", resp.Items[1].Reason)
	require.Contains(t, resp.Items[3].Reason, "line 8 has 2097160 bytes, the limit is 1048576")
	require.Equal(t, []string{"string good 1", "string good 2", "string good 3"}, []string{c.All[0]["m"], c.All[1]["m"], c.All[2]["m"]})
	require.Equal(t, 3, resp.Result.Accepted)
	require.Equal(t, 2, resp.Result.Rejected)
}

func TestActions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body string
		items      []esbulk.Item
		rows       int
	}{
		{name: "empty"},
		{name: "blank lines", body: "\xef\xbb\xbf\n \r\n\n"},
		{
			name: "index of the action, id given", rows: 1,
			body: `{ "index" : {"_index":"a","_id":"7","routing":"x","pipeline":null,"_type":"_doc","dynamic_templates":{"a":"b"}} }` +
				"\r\n{\"@timestamp\":1}\r\n",
			items: []esbulk.Item{{Action: "index", Index: "a", ID: "7", Status: 201}},
		},
		{
			name: "index of the path", rows: 1, body: "{\"create\":{\"_index\":null}}\n{\"a\":1}\n\n",
			items: []esbulk.Item{{Action: "create", Index: "s1", ID: "made", Status: 201}},
		},
		{
			name: "delete and update", rows: 1,
			body: "{\"delete\":{\"_id\":\"1\"}}\n{\"update\":{\"_id\":\"2\"}}\n{\"doc\":{}}\n{\"index\":{}}\n{\"a\":1}\n",
			items: []esbulk.Item{
				refused("delete", "1", "illegal_argument_exception", "rows are only added, delete is not supported"),
				refused("update", "2", "illegal_argument_exception", "rows are only added, update is not supported"),
				{Action: "index", Index: "s1", ID: "made", Status: 201},
			},
		},
		{
			name: "broken actions", rows: 2,
			body: "{\"index\":{}\n{\"a\":1}\n{\"index\":{}}\n{\"a\":2}\nx\n{\"create\":{}}\n{\"a\":3}\n{\"shred\":{}}\n",
			items: []esbulk.Item{
				refused("index", "", "illegal_argument_exception", "line 1: malformed action: unexpected end of JSON at byte 11"),
				{Action: "index", Index: "s1", ID: "made", Status: 201},
				refused("index", "", "illegal_argument_exception", "line 5: malformed action: an object is expected at byte 0"),
				{Action: "create", Index: "s1", ID: "made", Status: 201},
				refused("index", "", "illegal_argument_exception", `line 8: malformed action: unknown action "shred" (create and index are known)`),
			},
		},
		{
			name: "no document", body: "{\"index\":{}}",
			items: []esbulk.Item{refused("index", "", "action_request_validation_exception", "the body ends before the document")},
		},
		{
			name: "bad index", body: "{\"index\":{\"_index\":\"a/b\"}}\n{}\n",
			items: []esbulk.Item{{
				Action: "index", Index: "a/b", Status: 400, ErrorType: "invalid_index_name_exception",
				Reason: `index name "a/b": character '/' at byte 1 is not allowed (letters, digits and _:-.{} are)`,
			}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := &wiretest.Collector{T: t}
			resp, err := decode(t, "s1", tc.body, c)
			require.NoError(t, err)
			require.Equal(t, tc.items, resp.Items)
			require.Equal(t, tc.rows, c.Total())
			require.Equal(t, len(tc.items), resp.Result.Accepted+resp.Result.Rejected)
		})
	}
	resp, err := decode(t, "", "{\"index\":{}}\n{\"a\":1}\n", &wiretest.Collector{T: t})
	require.NoError(t, err)
	require.Equal(t, []string{"400 action_request_validation_exception"}, statuses(resp.Items))
}

func TestBatchesAreByStream(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	for i := range 9 {
		fmt.Fprintf(&body, "{\"create\":{\"_index\":\"i%d\"}}\n{\"n\":%d}\n", i%3, i)
	}
	c := &wiretest.Collector{T: t}
	resp, err := decode(t, "", body.String(), c)
	require.NoError(t, err)
	require.Equal(t, []int{3, 3, 3}, c.Sizes)
	require.Equal(t, "i1", c.Streams[1].Name)
	require.Equal(t, []string{"int64 1", "int64 4", "int64 7"}, []string{c.All[3]["n"], c.All[4]["n"], c.All[5]["n"]})
	for i, item := range resp.Items {
		require.Equal(t, fmt.Sprintf("i%d", i%3), item.Index)
	}
}

func TestManyStreams(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&body, "{\"create\":{\"_index\":\"i%d\"}}\n{\"n\":%d}\n", i%1000, i)
	}
	c := &wiretest.Collector{T: t}
	resp, err := decode(t, "", body.String(), c)
	require.NoError(t, err)
	require.Equal(t, 2000, resp.Result.Accepted)
}

// TestEmitErrors marks the items of the batches that failed, and those alone.
func TestEmitErrors(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	for _, index := range []string{"full", "good", "full", "down"} {
		fmt.Fprintf(&body, "{\"create\":{\"_index\":\"%s\"}}\n{\"a\":1}\n", index)
	}
	c := &wiretest.Collector{T: t}
	c.Fail = func(b *signal.Batch) error {
		switch b.Stream.Name {
		case "full":
			return fault.New(fault.Limited, "over the rate")
		case "down":
			return fault.New(fault.Unavailable, "disk full")
		default:
			return nil
		}
	}
	resp, err := decode(t, "", body.String(), c)
	require.NoError(t, err)
	require.NoError(t, resp.Refused)
	const overload = "429 es_rejected_execution_exception"
	require.Equal(t, []string{overload, "201", overload, "503 unavailable_shards_exception"}, statuses(resp.Items))
	require.Equal(t, "over the rate", resp.Items[0].Reason)

	resp, err = decode(t, "full", "{\"create\":{}}\n{\"a\":1}\n{\"create\":{}}\nx\n", failing(t, c.Fail))
	require.NoError(t, err)
	require.True(t, fault.Is(resp.Refused, fault.Limited))
	require.Equal(t, []string{overload, "400 mapper_parsing_exception"}, statuses(resp.Items))
}

func failing(t *testing.T, fail func(*signal.Batch) error) *wiretest.Collector {
	t.Helper()
	return &wiretest.Collector{T: t, Fail: fail}
}

func TestBodiesThatEndEarly(t *testing.T) {
	t.Parallel()
	gone := fault.New(fault.Canceled, "gone")
	c := &wiretest.Collector{T: t, Fail: func(*signal.Batch) error { return gone }}
	resp, err := decode(t, "", "{\"create\":{\"_index\":\"a\"}}\n{\"a\":1}\n{\"create\":{\"_index\":\"b\"}}\n{\"a\":1}\n", c)
	require.ErrorIs(t, err, gone)
	require.NotContains(t, statuses(resp.Items), "201")
	require.NotContains(t, statuses(resp.Items), "0")

	opts := options()
	opts.MaxBodyBytes = 100
	body := strings.Repeat("{\"create\":{}}\n{\"a\":1}\n", 100)
	resp, err = esbulk.Decode(strings.NewReader(body), request("s1"), opts, (&wiretest.Collector{T: t}).Emit)
	require.True(t, fault.Is(err, fault.TooLarge))
	require.Zero(t, resp.Result.Accepted)

	body = strings.Repeat("{\"delete\":{}}\n", esbulk.MaxItems+1)
	_, err = esbulk.Decode(strings.NewReader(body), request("s1"), options(), (&wiretest.Collector{T: t}).Emit)
	require.True(t, fault.Is(err, fault.TooLarge))
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"{\"index\":{\"_index\":\"a\"}}\n{\"a\":1}\n", "{\"delete\":{}}\n{\"create\":{}}\n{\"a\":{\"b\":[1]}}",
		"x\n{\"index\":{}}\n\n", "\n\n", "{\"update\":{}}\n{\"doc\":{}}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		opts := options()
		opts.MaxLineBytes = 64
		c := &wiretest.Collector{T: t}
		resp, err := esbulk.Decode(strings.NewReader(string(body)), request("s1"), opts, c.Emit)
		require.NoError(t, err)
		require.Equal(t, c.Total(), resp.Result.Accepted)
		require.Equal(t, len(resp.Items), resp.Result.Accepted+resp.Result.Rejected)
		stored := 0
		for _, item := range resp.Items {
			require.NotZero(t, item.Status)
			require.Equal(t, item.Status == 201, item.Reason == "")
			if item.Status == 201 {
				stored++
				require.NotEmpty(t, item.ID)
			}
		}
		require.Equal(t, c.Total(), stored)
	})
}
