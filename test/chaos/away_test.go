package chaos_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
	"github.com/millstream/millstream/internal/testkit/netproxy"
	"github.com/millstream/millstream/internal/testkit/s3test"
)

// stopPatience bounds the wait for a process whose drain timeout is 2 s. It is generous because two cores are shared.
const stopPatience = time.Minute

// TestObjectStoreAwayAtStop is case X06: the process ends although it cannot flush, and the rows are there after the next start.
func TestObjectStoreAwayAtStop(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]netproxy.Mode{"refusing": netproxy.Refuse, "hanging": netproxy.Stall} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s3 := s3test.Start(t)
			s := servers{s3: s3, toS3: netproxy.Start(t, s3.Endpoint)}
			c := newCampaign(t, mstest.Start(t, mstest.Config{Env: s.objects(map[string]string{
				"MS_INTAKE_FLUSH_INTERVAL_SECS": "3600", "MS_NODE_DRAIN_TIMEOUT_SECS": "2",
			})}), 4)
			c.begin()
			c.awaitAcknowledged()
			s.toS3.Set(mode)
			require.NoError(t, c.server.Signal(syscall.SIGTERM))
			select {
			case <-c.server.Exited():
			case <-time.After(stopPatience):
				require.Fail(t, "it does not end while the object store is away")
			}
			require.NotEmpty(t, segmentFiles(t, c.server), "the log is kept")

			s.toS3.Set(netproxy.Pass)
			require.NoError(t, c.server.Start(t.Context()))
			c.verify()
			c.stop()
			require.NoError(t, c.server.Restart(t.Context()))
			c.verifyAll()
		})
	}
}

// TestReplayInLittleMemory is the second half of case W04: a log many times as large as the buffers may be.
func TestReplayInLittleMemory(t *testing.T) {
	t.Parallel()
	s := mstest.Start(t, mstest.Config{Env: map[string]string{
		"MS_INTAKE_FLUSH_INTERVAL_SECS": "3600", "MS_INTAKE_BUFFER_MAX_SIZE": "512MiB", "MS_INTAKE_BUFFER_MEMORY_MAX": "1GiB",
	}})
	c := newCampaign(t, s, 5)
	c.turn(0)
	const least = 24 << 20 // bytes of rows
	for counter(t, s, "millstream_ingest_buffer_bytes") < least {
		for _, l := range c.lanes() {
			span := l.take(10_000)
			require.NoError(t, l.send(t.Context(), c.wire(l), span))
			l.ack(span)
		}
	}
	s.Kill()

	s.Set("MS_INTAKE_BUFFER_MAX_SIZE", "1MiB")
	s.Set("MS_INTAKE_BUFFER_MEMORY_MAX", "4MiB")
	require.NoError(t, s.StartAlive(t.Context()))
	seen := c.watchReplay()
	t.Logf("progress was told %d times, last %v", len(seen), seen[max(0, len(seen)-3):])
	require.NotEmpty(t, seen, "readyz tells how far the replay is")
	require.LessOrEqual(t, counter(t, s, "millstream_ingest_buffer_bytes"), float64(4<<20))
	c.verify()
	require.NoError(t, s.Restart(t.Context()))
	require.Less(t, len(segmentFiles(t, s)), 3, "the log is emptied")
	c.verifyAll()
}

// watchReplay asks for health and readiness until the server is ready, and returns the shares of the log that it said were done.
func (c *campaign) watchReplay() (seen []float64) {
	c.Helper()
	client := c.server.Client("acme")
	for {
		require.Equal(c, http.StatusOK, client.Get(c, "/api/v1/healthz").Status, "it lives while it replays")
		res := client.Get(c, "/api/v1/readyz")
		if res.Status == http.StatusOK {
			return seen
		}
		require.Equal(c, http.StatusServiceUnavailable, res.Status, "%s", res.Body)
		write := client.Post(c, "/api/v1/intake/logs/late", `{"n":1}`)
		if write.Status == http.StatusOK {
			continue // it has become ready in between
		}
		require.Equal(c, http.StatusServiceUnavailable, write.Status, "%s", write.Body)
		require.NotEmpty(c, write.Header.Get("Retry-After"))
		var report struct {
			Replay struct {
				Done  float64 `json:"done_bytes"`
				Total float64 `json:"total_bytes"`
			}
		}
		require.NoError(c, json.Unmarshal(res.Body, &report))
		if p := report.Replay; p.Total > 0 {
			seen = append(seen, p.Done/p.Total)
		}
	}
}

// TestKillBetweenUploadAndCommit is case K06: what a killed process has uploaded and not registered is read by nobody.
func TestKillBetweenUploadAndCommit(t *testing.T) {
	t.Parallel()
	s := startServers(t)
	c := newCampaign(t, mstest.Start(t, mstest.Config{Env: s.catalog(t, restless())}), 6)
	c.begin()
	for _, side := range []netproxy.Side{netproxy.BeforeServer, netproxy.AfterServer} {
		c.awaitAcknowledged()
		c.killAtCommit(s.toPG, side)()
		require.NoError(t, c.server.Start(t.Context()))
		c.verify()
	}
	c.stop()
	require.NoError(t, c.server.Restart(t.Context()))
	c.verifyAll()

	// The commit that never arrived has left files; the compactor's sweep of orphans is tested with it.
	files, err := filepath.Glob(filepath.Join(c.server.DataDir, "objects", "*", "*", "*", "*", "*.parquet"))
	require.NoError(t, err)
	var registered int64
	for _, org := range []string{"acme", "globex"} {
		registered += c.registered(org)
	}
	require.Greater(t, int64(len(files)), registered)
}

// registered returns how many files a statement over everything of the org reads.
func (c *campaign) registered(org string) (n int64) {
	c.Helper()
	for _, l := range c.state.all {
		if l.org != org {
			continue
		}
		a, err := c.server.Client(org).Ask(c.Context(), "SELECT count("+l.number+") FROM "+l.from)
		require.NoError(c, err)
		segments, err := integer(a.Stats["segments"])
		require.NoError(c, err)
		n += segments
	}
	return n
}
