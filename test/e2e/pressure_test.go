package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A count that runs all through flushes never goes down, and never above what was sent.
func TestCountNeverGoesDown(t *testing.T) {
	t.Parallel()
	s := start(t, "MS_INTAKE_FLUSH_INTERVAL_SECS", "1")
	const batches, rows = 150, 200
	var sent, stored atomic.Int64 // rows handed over, rows acknowledged
	s.accept(t, "s1", `{"v":0}`)
	sent.Add(1)
	stored.Add(1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writer sync.WaitGroup
	writer.Go(func() {
		defer cancel()
		for range batches {
			sent.Add(rows)
			status, r := s.logs(t, "s1", strings.Repeat("{\"v\":1}\n", rows))
			if status != http.StatusOK || r.Accepted != rows {
				t.Errorf("status %d: %+v", status, r)
				return
			}
			stored.Add(rows)
		}
	})
	asked, last := 0, int64(0)
	for ctx.Err() == nil {
		least := max(last, stored.Load())
		n, err := s.Query(t, "SELECT count(*) FROM s1")[0][0].(json.Number).Int64()
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, least, "after %d questions", asked)
		require.LessOrEqual(t, n, sent.Load(), "after %d questions", asked)
		asked, last = asked+1, n
	}
	writer.Wait()
	s.waitFlushed(t)
	require.Equal(t, fmt.Sprint(batches*rows+1), s.one(t, "SELECT count(*) FROM s1"))
	t.Logf("%d questions over %v segments", asked, s.metric(t, "millstream_ingest_segments_total"))
}

// open asks for a statement's answer as NDJSON and returns it unread.
func (s store) open(t *testing.T, statement string) *http.Response {
	t.Helper()
	body, err := json.Marshal(map[string]string{"statement": statement})
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.HTTP+"/api/v1/query?format=ndjson", bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("X-Scope-OrgID", s.Org)
	res, err := (&http.Transport{DisableKeepAlives: true, DisableCompression: true}).RoundTrip(req)
	require.NoError(t, err)
	return res
}

// streamAll asks for all rows of a stream, and reads them as they come. It returns their number and the time to the first.
func (s store) streamAll(t *testing.T, stream string) (rows int, first time.Duration) {
	t.Helper()
	asked := time.Now()
	res := s.open(t, "SELECT * FROM "+stream)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	lines := bufio.NewReaderSize(res.Body, mib)
	end := ""
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if rows++; rows == 1 {
			first = time.Since(asked)
		}
		if strings.HasPrefix(line, `{"_meta"`) {
			end = line
		}
	}
	require.NotEmpty(t, end)
	require.NotContains(t, end, `"error"`)
	return rows - 1, first
}

// streamingMemory is what the server may take while it streams rows of any number, with 256 MiB for the engine. Seen: 361 MiB with flushes
// and merges beside it. A server that held the answer of three million rows would have a gigabyte more, one that held the row groups
// of a merge had 790 MiB.
const streamingMemory = 600 * mib

// testStreaming stores n rows and reads them all back; the answer must not be held in memory.
func testStreaming(t *testing.T, n int) {
	t.Helper()
	s := start(t, "MS_INTAKE_FLUSH_INTERVAL_SECS", "1", "MS_QUERIER_MEMORY_LIMIT", "256MiB", "MS_QUERIER_CONCURRENCY", "2")
	s.shop(t, "s1", n)
	s.waitFlushed(t)
	require.NoError(t, s.Restart(t.Context()))
	s.resetPeak(t)
	began := time.Now()
	rows, first := s.streamAll(t, "s1")
	require.Equal(t, n, rows)
	t.Logf("%d rows in %v, the first after %v, peak %d MiB", rows, time.Since(began), first, s.peakRSS(t)/mib)
	require.Less(t, s.peakRSS(t), int64(streamingMemory))
}

func TestSelectStarStreams(t *testing.T) {
	t.Parallel()
	testStreaming(t, 300_000)
}
