package e2e_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	collectorlogs "go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // the compressor of the bomb
	grpcstatus "google.golang.org/grpc/status"
)

// Keys that other stores fold into one column keep a value each.
func TestCase_I01(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.accept(t, "s1", `{"a":{"b":1},"a.b":2,"a_b":3,"userName":"x","username":"y"}`)
	s.stages(t, func(t *testing.T) {
		a, err := s.Ask(t.Context(), "SELECT * FROM s1")
		require.NoError(t, err)
		require.Len(t, a.Rows, 1)
		var cells []string
		for i, c := range a.Columns {
			if c.Name != "_timestamp" {
				cells = append(cells, text(a.Rows[0][i]))
			}
		}
		require.ElementsMatch(t, []string{`2`, `3`, `x`, `y`, `{"a.b":1}`}, cells)
	})
}

// Integers beyond int64 and floats beyond float64 are kept to the digit and never stop a flush.
func TestCase_I03(t *testing.T) {
	t.Parallel()
	s := start(t)
	values := []string{"9223372036854775807", "9223372036854775808", "18446744073709551615", "-9223372036854775809", "1e400"}
	var body strings.Builder
	for i, v := range values {
		fmt.Fprintf(&body, "{\"i\":%d,\"n\":%s}\n", i, v)
	}
	s.accept(t, "s1", body.String())
	s.accept(t, "other", `{"m":"beside"}`)
	s.stages(t, func(t *testing.T) {
		require.Equal(t, values, s.column(t, "SELECT n FROM s1 ORDER BY i"))
		require.Equal(t, "beside", s.one(t, "SELECT m FROM other"))
		require.Equal(t, "4", s.one(t, "SELECT count(*) FROM s1 WHERE n > 0"))
	})
	require.Zero(t, s.metric(t, "millstream_ingest_flush_errors_total"))
}

// Bytes that are no UTF-8, control characters and private-use runes never make a query fail.
func TestCase_I04(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.accept(t, "s1", "{\"m\":\"bad\xffbyte\"}\n{\"m\":\"\\u0001\"}\n{\"m\":\"\xef\x81\x8a\"}\n{\"m\":\"ok\"}\n")
	now := time.Now().UnixNano()
	push := fmt.Sprintf("{\"streams\":[{\"stream\":{\"app\":\"bad\xfflabel\"},\"values\":"+
		"[[\"%d\",\"bad\xffline\"],[\"%d\",\"\\u0001\"],[\"%d\",\"ok\"]]}]}", now, now+1, now+2)
	res := s.Post(t, "/loki/api/v1/push", push)
	require.Equal(t, http.StatusNoContent, res.Status, "%s", res.Body)
	s.stages(t, func(t *testing.T) {
		require.ElementsMatch(t, []string{"bad\ufffdbyte", "\x01", "\uf04a", "ok"}, s.column(t, "SELECT m FROM s1"))
		require.Equal(t, []string{"bad\ufffdline", "\x01", "ok"},
			s.column(t, "SELECT message FROM loki_logs ORDER BY _timestamp, _timestamp_nanos"))
		require.Equal(t, "bad\ufffdlabel", s.one(t, "SELECT DISTINCT app FROM loki_logs"))
		require.Equal(t, "3", s.one(t, "SELECT count(*) FROM s1 WHERE m LIKE '%o%' OR m = chr(1) OR m LIKE '%byte%'"))
	})
}

type bulkAnswer struct {
	Errors bool `json:"errors"`
	Items  []map[string]struct {
		Status int `json:"status"`
		Error  struct {
			Type   string `json:"type"`
			Reason string `json:"reason"`
		} `json:"error"`
	} `json:"items"`
}

func (a bulkAnswer) statuses() []int {
	out := make([]int, 0, len(a.Items))
	for _, item := range a.Items {
		for _, v := range item {
			out = append(out, v.Status)
		}
	}
	return out
}

// An item a document, in order, each with its own status; the parser finds its place again after a bad line.
func TestCase_I05(t *testing.T) {
	t.Parallel()
	s := start(t, "MS_LIMITS_MAX_LINE_SIZE", "4KiB")
	action := `{"create":{"_index":"s1"}}` + "\n"
	body := action + `{"i":1}` + "\n" + action + `{"m":"\q"}` + "\n" + action + `{"i":2}` + "\n" +
		action + `{"m":"` + strings.Repeat("x", 5000) + `"}` + "\n" + action + `{"i":3}`
	res := s.Post(t, "/_bulk", body, "Content-Type", "application/x-ndjson")
	require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
	var answer bulkAnswer
	require.NoError(t, json.Unmarshal(res.Body, &answer))
	require.True(t, answer.Errors)
	require.Equal(t, []int{201, 400, 201, 413, 201}, answer.statuses())
	require.NotEmpty(t, answer.Items[1]["create"].Error.Type)
	require.NotEmpty(t, answer.Items[3]["create"].Error.Reason)
	s.stages(t, func(t *testing.T) {
		require.Equal(t, []string{"1", "2", "3"}, s.column(t, "SELECT i FROM s1 ORDER BY i"))
	})
}

// A line above the limit is dropped alone, counted, and never held in memory.
func TestCase_I06(t *testing.T) {
	t.Parallel()
	s := start(t)
	before := s.rss(t)
	long := strings.Repeat("x", 5*mib)
	for _, body := range []string{
		`{"m":"A"}` + "\n" + `{"m":"` + long + `"}` + "\n" + `{"m":"B"}` + "\n",
		`{"m":"C"}` + "\n" + `{"m":"` + long,
	} {
		// A reader of unknown size makes the client send chunks.
		chunks := io.MultiReader(strings.NewReader(body))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.HTTP+"/api/v1/intake/logs/s1", chunks)
		require.NoError(t, err)
		req.Header.Set("X-Scope-OrgID", s.Org)
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Do(req)
		require.NoError(t, err)
		data, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusOK, res.StatusCode, "%s", data)
		var r reply
		require.NoError(t, json.Unmarshal(data, &r))
		require.Equal(t, 1, r.Rejected)
		require.Len(t, r.Errors, 1)
		require.Equal(t, 1, r.Errors[0].Index)
		require.Contains(t, r.Errors[0].Reason, "1048576")
		require.NotContains(t, string(data), "xxxx")
	}
	require.InDelta(t, 2, s.metric(t, `millstream_discarded_rows_total{org="t1",reason="line_too_long"}`), 0)
	require.Less(t, s.rss(t)-before, int64(64*mib))
	s.stages(t, func(t *testing.T) {
		require.Equal(t, []string{"A", "B", "C"}, s.column(t, "SELECT m FROM s1 ORDER BY m"))
	})
}

// zeros compresses a GiB of zero bytes.
func zeros(t *testing.T, w func(io.Writer) io.WriteCloser) string {
	t.Helper()
	var out bytes.Buffer
	z := w(&out)
	chunk := make([]byte, mib)
	for range 1 << 10 {
		_, err := z.Write(chunk)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return out.String()
}

// Limits count inflated bytes, in every encoding and protocol; a corrupt length allocates nothing.
func TestCase_I08(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int64{"default": 64 * mib, "8MiB": 8 * mib} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var settings []string
			if name != "default" {
				settings = []string{"MS_INTAKE_MAX_BODY_SIZE", name}
			}
			bomb(t, start(t, settings...), limit)
		})
	}
}

// bomb sends bodies that are a gigabyte inflated. limit is intake.max_body_size.
func bomb(t *testing.T, s store, limit int64) {
	t.Helper()
	packed := zeros(t, func(w io.Writer) io.WriteCloser { z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed); return z })
	bombs := map[string]string{
		"gzip": packed,
		"zstd": zeros(t, func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
			require.NoError(t, err)
			return z
		}),
		"snappy": "\xff\xff\xff\xff\x0fx",
	}
	before := s.rss(t)
	s.resetPeak(t)
	paths := map[string]string{
		"/api/v1/intake/logs/s1": "application/json", "/v1/logs": "application/x-protobuf", "/_bulk": "application/x-ndjson",
		"/loki/api/v1/push": "application/json",
	}
	for encoding, body := range bombs {
		for path, media := range paths {
			res := s.Post(t, path, body, "Content-Type", media, "Content-Encoding", encoding)
			require.Contains(t, []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}, res.Status, "%s %s: %s", encoding, path, res.Body)
		}
	}
	require.Equal(t, codes.ResourceExhausted, s.exportPacked(t, packed))
	conn, err := grpc.NewClient(s.OTLPGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // nothing to lose
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	// A message of the right form, 100 MiB inflated; the limit is half of that of bodies.
	logs := bigLogs(100 * mib)
	_, err = collectorlogs.NewGRPCClient(conn).Export(ctx, logs, grpc.UseCompressor("gzip"))
	require.Equal(t, codes.ResourceExhausted, grpcstatus.Code(err), "%v", err)

	t.Logf("memory grew by %d MiB", (s.peakRSS(t)-before)/mib)
	require.Less(t, s.peakRSS(t)-before, limit+128*mib) // a decoder's window, the gRPC message and what the runtime holds
	s.accept(t, "s1", `{"m":"alive"}`)
	require.Equal(t, "alive", s.one(t, "SELECT m FROM s1"))
	require.True(t, s.Running())
}

// exportPacked sends a gzip as the message of an OTLP/gRPC call and returns the call's status. A gRPC client would have to inflate it.
func (s store) exportPacked(t *testing.T, packed string) codes.Code {
	t.Helper()
	transport := &http.Transport{Protocols: &http.Protocols{}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	frame := binary.BigEndian.AppendUint32([]byte{1}, uint32(len(packed)))
	url := "http://" + s.OTLPGRPC + "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(string(frame)+packed))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Grpc-Encoding", "gzip")
	req.Header.Set("Te", "trailers")
	res, err := transport.RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	code, err := strconv.Atoi(cmp.Or(res.Trailer.Get("Grpc-Status"), res.Header.Get("Grpc-Status")))
	require.NoError(t, err)
	return codes.Code(code)
}

// Bodies of nothing, of blanks, of the other form: each has an answer of its own, none is a 5xx, none makes an empty stream.
func TestCase_I10(t *testing.T) {
	t.Parallel()
	s := start(t)
	for body, accepted := range map[string]int{"": 0, "\n\n": 0, "[]": 0, " \r\n": 0} {
		status, r := s.logs(t, "empty", body)
		require.Equal(t, http.StatusOK, status, "%q", body)
		require.Equal(t, accepted, r.Accepted, "%q", body)
	}
	for _, body := range []string{"null", `"x"`, "{}", "7", "[7]", `[{"m":1}`} {
		status, _ := s.logs(t, "empty", body)
		require.Equal(t, http.StatusBadRequest, status, "%q", body)
	}
	require.Equal(t, http.StatusNotFound, s.refusal(t, "SELECT * FROM empty").Status)
	require.Empty(t, s.Query(t, "SHOW STREAMS"))

	for _, body := range []string{`[{"m":1}]`, `{"m":1}`, "\xef\xbb\xbf" + `{"m":1}`, "\xef\xbb\xbf" + `[{"m":1}]`, "{\n \"m\": 1\n}"} {
		status, r := s.logs(t, "s1", body)
		require.Equal(t, http.StatusOK, status, "%q", body)
		require.Equal(t, 1, r.Accepted, "%q", body)
	}
	require.Equal(t, "5", s.one(t, "SELECT count(m) FROM s1"))

	for _, path := range []string{"/_bulk", "/s1/_bulk", "/loki/api/v1/push", "/v1/logs"} {
		for _, body := range []string{"", "\n\n", "[]", "{}", `[{"m":1}]`, `{"m":1}`, "null", `"x"`, "\xef\xbb\xbf" + `{"m":1}`} {
			res := s.Post(t, path, body)
			require.Less(t, res.Status, 500, "%s %q: %s", path, body, res.Body)
		}
	}
	a, err := s.Ask(t.Context(), "SHOW STREAMS")
	require.NoError(t, err)
	require.Len(t, a.Rows, 1, "%v", a.Rows)
}
