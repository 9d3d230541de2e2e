package limits_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// requireWait checks that an answer tells a wait in whole seconds, at least one and not long.
func requireWait(t *testing.T, res mstest.Response) {
	t.Helper()
	seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
	require.NoError(t, err, "Retry-After is a whole number: %q", res.Header.Get("Retry-After"))
	require.True(t, seconds >= 1 && seconds <= 38, "%d", seconds) // 30 and a quarter more by chance
}

// TestStatusesTellWhatToDo goes over the limits in every way: 429 with a wait for what passes later, a 4xx without one for what never does,
// 503 with a wait for what the server itself has not, and what is within the limits goes on beside it.
func TestStatusesTellWhatToDo(t *testing.T) {
	t.Parallel()
	s, _ := start(t, `overrides:
  rate: {ingestion_rate_mb: 1, ingestion_burst_size_mb: 2}
  streams: {max_global_streams_per_user: 2}
`, map[string]string{"MS_INTAKE_MAX_BODY_SIZE": "4MiB", "MS_INTAKE_INFLIGHT_MEMORY_MAX": "6MiB"})

	t.Run("over the byte rate", func(t *testing.T) {
		t.Parallel()
		c := s.Client("rate")
		require.Equal(t, http.StatusNoContent, c.Post(t, "/loki/api/v1/push", string(body(2*mib))).Status)
		res := c.Post(t, "/loki/api/v1/push", string(body(2*mib)))
		require.Equal(t, http.StatusTooManyRequests, res.Status)
		requireWait(t, res)
		require.Contains(t, string(res.Body), "limits.ingestion_rate_mb")

		never := c.Post(t, "/loki/api/v1/push", string(body(2*mib+1)))
		require.Equal(t, http.StatusRequestEntityTooLarge, never.Status)
		require.Empty(t, never.Header.Get("Retry-After"))
		require.Contains(t, string(never.Body), "limits.ingestion_burst_size_mb")
	})
	t.Run("over the body size", func(t *testing.T) { // alone, as the last one: it needs most of the memory for bodies
		res := s.Client("body").Post(t, "/loki/api/v1/push", string(body(4*mib+1)))
		require.Equal(t, http.StatusRequestEntityTooLarge, res.Status)
		require.Empty(t, res.Header.Get("Retry-After"))
		require.Contains(t, string(res.Body), "intake.max_body_size")
	})
	t.Run("over the streams", func(t *testing.T) {
		t.Parallel()
		c := s.Client("streams")
		require.Equal(t, http.StatusOK, c.Post(t, "/api/v1/intake/logs/one", `[{"n":1}]`).Status)
		require.Equal(t, http.StatusNoContent, write(t, c, "two").Status)
		res := c.Post(t, "/api/v1/intake/logs/three", `[{"n":1}]`)
		require.Equal(t, http.StatusTooManyRequests, res.Status)
		requireWait(t, res)
		require.Contains(t, string(res.Body), "it has 2, the limit is 2 (limits.max_global_streams_per_user)")
		require.Equal(t, http.StatusTooManyRequests, write(t, c, "four").Status)

		require.Equal(t, http.StatusOK, c.Post(t, "/api/v1/intake/logs/one", `[{"n":2}]`).Status)
		mixed := write(t, c, "two", "four", "five")
		require.Equal(t, http.StatusBadRequest, mixed.Status, "what is stored must not be sent again for the sake of the rest")
		require.Contains(t, string(mixed.Body), "2 errors like: stream")
		require.Equal(t, [][]any{{"2"}}, texts(c.Query(t, "SELECT count(*) FROM metrics.two")))
		require.Equal(t, [][]any{{"2"}}, texts(c.Query(t, "SELECT count(*) FROM one")))
		metrics := string(c.Get(t, "/metrics").Body)
		require.Contains(t, metrics, `millstream_discarded_rows_total{org="streams",reason="stream_limit"} 4`)
		require.EqualValues(t, 2, limitsOf(t, c).Limits["max_global_streams_per_user"].Usage)
	})
	t.Run("out of memory for bodies", func(t *testing.T) {
		c := s.Client("memory")
		release := holdBody(t, s, "memory", 4*mib-1)
		res := awaitStatus(t, c, http.StatusServiceUnavailable, body(2*mib))
		requireWait(t, res)
		require.Contains(t, string(res.Body), "intake.inflight_memory_max")
		require.Equal(t, http.StatusNoContent, s.Client("another").Post(t, "/loki/api/v1/push", string(body(mib))).Status)
		release()
		awaitStatus(t, c, http.StatusNoContent, body(2*mib))
	})
}

// awaitStatus pushes a body until the answer has the status, and returns that answer. A body that is refused before it was read may meet a
// connection that is closed already, which is no answer.
func awaitStatus(t *testing.T, c mstest.Client, status int, body []byte) (res mstest.Response) {
	t.Helper()
	require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) (err error) {
		res, err = c.Do(ctx, http.MethodPost, "/loki/api/v1/push", body, "Content-Type", "application/json")
		if err == nil && res.Status != status {
			err = fmt.Errorf("status %d: %s", res.Status, res.Body)
		}
		return err
	}))
	return res
}

// texts turns numbers into texts.
func texts(rows [][]any) [][]any {
	for _, row := range rows {
		for i := range row {
			row[i] = fmt.Sprint(row[i])
		}
	}
	return rows
}

// write sends one sample of each metric by remote write.
func write(t *testing.T, c mstest.Client, metrics ...string) mstest.Response {
	t.Helper()
	var request prompb.WriteRequest
	for _, name := range metrics {
		request.Timeseries = append(request.Timeseries, prompb.TimeSeries{
			Labels:  []prompb.Label{{Name: "__name__", Value: name}},
			Samples: []prompb.Sample{{Timestamp: time.Now().UnixMilli(), Value: 1}},
		})
	}
	plain, err := request.Marshal()
	require.NoError(t, err)
	return c.Post(t, "/api/v1/write", string(snappy.Encode(nil, plain)),
		"Content-Type", "application/x-protobuf", "Content-Encoding", "snappy")
}

// holdBody begins a request of an org that has sent n bytes and does not end, until release is called. When the request is refused, as
// where others hold too much at that moment, it begins again.
func holdBody(t *testing.T, s *mstest.Server, org string, n int) (release func()) {
	t.Helper()
	released := make(chan struct{})
	transport := &http.Transport{DisableKeepAlives: true}
	begin := func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.HTTP+"/loki/api/v1/push",
			io.MultiReader(bytes.NewReader(body(n)), endsWith(released)))
		if err != nil {
			return err
		}
		req.Header.Set("X-Scope-OrgID", org)
		req.Header.Set("Content-Type", "application/json")
		res, err := transport.RoundTrip(req)
		if err != nil {
			return nil //nolint:nilerr // a refusal may cut the connection
		}
		return res.Body.Close()
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			if err := begin(); err != nil {
				t.Error(err)
				return
			}
			select {
			case <-released:
				return
			case <-t.Context().Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	return func() {
		close(released)
		wg.Wait()
	}
}

// endsWith is a reader without a byte that ends when the channel is closed.
type endsWith <-chan struct{}

// Read implements io.Reader.
func (c endsWith) Read([]byte) (int, error) {
	<-c
	return 0, io.EOF
}
