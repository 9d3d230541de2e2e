//go:build long

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSelectStarOfMillions is TestSelectStarStreams with three million rows, about a gigabyte.
func TestSelectStarOfMillions(t *testing.T) { testStreaming(t, 3_000_000) }

// TestCase_Q04_Millions is case Q04 with as many rows as it names, about five gigabytes of text.
func TestCase_Q04_Millions(t *testing.T) { testGreedyQueries(t, 20_000_000) }

// TestCase_W04_Gigabytes is the second half of case W04: a log of 2 GiB is replayed by a process that has 512 MiB of memory. It is written
// by one with more, which makes no files meanwhile.
func TestCase_W04_Gigabytes(t *testing.T) {
	const logBytes, memory = 2 << 30, 512 * mib
	s := start(t, "MS_INTAKE_BUFFER_MAX_SIZE", "8GiB", "MS_INTAKE_BUFFER_MEMORY_MAX", "8GiB")
	const streams, batch = 4, 20_000
	var sent [streams]int
	began := time.Now()
	for s.metric(t, "millstream_wal_size_bytes") < logBytes {
		var senders sync.WaitGroup
		for stream := range streams {
			senders.Go(func() {
				var body strings.Builder
				for i := range batch {
					n := sent[stream] + i
					fmt.Fprintf(&body, `{"n":%d,"request_id":"req-%016x","message":"%[1]d the customer looked at shelf %[3]x"}`+"\n",
						n, uint64(n)*0x9e3779b97f4a7c15, uint64(n)*0xc2b2ae3d27d4eb4f)
				}
				if status, r := s.logs(t, fmt.Sprintf("s%d", stream), body.String()); status != http.StatusOK || r.Rejected != 0 {
					t.Errorf("status %d: %+v", status, r)
				}
				sent[stream] += batch
			})
		}
		senders.Wait()
		require.False(t, t.Failed())
	}
	size := s.metric(t, "millstream_wal_size_bytes")
	t.Logf("%v rows, %.0f MiB of log in %v", sent, size/mib, time.Since(began))
	s.Kill()

	for name, value := range map[string]string{
		"MS_INTAKE_BUFFER_MAX_SIZE": "16MiB", "MS_INTAKE_BUFFER_MEMORY_MAX": "64MiB", "MS_QUERIER_MEMORY_LIMIT": "128MiB",
		"MS_QUERIER_CONCURRENCY": "2", "GOMEMLIMIT": "320MiB", // 512 MiB less the engine and a tenth, as the program divides its memory
	} {
		s.Set(name, value)
	}
	began = time.Now()
	require.NoError(t, s.StartAlive(t.Context()))
	ready, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	require.NoError(t, s.WaitReady(ready))
	t.Logf("replayed in %v, peak %d MiB", time.Since(began), s.peakRSS(t)/mib)
	require.Less(t, s.peakRSS(t), int64(memory))
	for stream, rows := range sent {
		name := fmt.Sprintf("s%d", stream)
		require.Equal(t, fmt.Sprint(rows), s.one(t, "SELECT count(*) FROM "+name))
		require.Equal(t, fmt.Sprint(rows), s.one(t, "SELECT max(n) - min(n) + 1 FROM "+name))
	}
	t.Logf("peak with questions %d MiB", s.peakRSS(t)/mib)
	require.Less(t, s.peakRSS(t), int64(memory))
}
