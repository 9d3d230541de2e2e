package chaos_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// TestKill kills the program at random moments.
func TestKill(t *testing.T) {
	t.Parallel()
	killRounds(t, seed(t, 1), 8)
}

// restless are settings under which a flush is nearly always under way, files are merged all the time and segments of the log are short.
func restless() map[string]string {
	return map[string]string{
		"MS_INTAKE_FLUSH_INTERVAL_SECS": "1", "MS_COMPACTOR_INTERVAL_SECS": "1", "MS_WAL_SEGMENT_SIZE": "1MiB",
		"MS_NODE_DRAIN_TIMEOUT_SECS": "10",
	}
}

// killRounds is the campaign of the SQLite catalog and local objects: all that a killed process leaves is its data directory.
func killRounds(t *testing.T, seed uint64, rounds int) {
	t.Helper()
	c := newCampaign(t, mstest.Start(t, mstest.Config{Env: restless()}), seed)
	c.begin()
	began := time.Now()
	for round := range rounds {
		if round > 0 && round%laneRounds == 0 {
			c.turn(round / laneRounds)
		}
		strike := c.killAnyhow()
		require.NoError(t, c.server.Start(t.Context()), "start after %s", strike)
		c.verify()
		t.Logf("round %d: %s", round, strike)
	}
	c.stop()
	require.NoError(t, c.server.Restart(t.Context()))
	c.verifyAll()
	c.figures(rounds, began)
}

// killAnyhow ends the server in one of several ways, all but one of them by SIGKILL, and says how.
func (c *campaign) killAnyhow() string {
	switch c.random.IntN(8) {
	case 0:
		c.rest(1500)
		c.server.Stop()
		return "an orderly stop"
	case 1, 2:
		c.rest(1500)
		require.NoError(c, c.server.Signal(syscall.SIGTERM))
		c.rest(400)
		c.server.Kill()
		return "a kill while stopping"
	case 3, 4:
		c.awaitFlush()
		c.server.Kill()
		return "a kill while flushing"
	case 5:
		c.rest(1200)
		c.server.Kill()
		for range 1 + c.random.IntN(2) {
			require.NoError(c, c.server.StartAlive(c.Context()))
			c.rest(100)
			c.server.Kill()
		}
		return "kills while replaying"
	default:
		c.rest(2000)
		c.server.Kill()
		return "a kill"
	}
}

// rest lets the rows flow for a random time below so many milliseconds.
func (c *campaign) rest(below int64) {
	select {
	case <-time.After(time.Duration(c.random.Int64N(below*1000)) * time.Microsecond):
	case <-c.Context().Done():
	}
}

// awaitFlush returns as soon as a data file is being written.
func (c *campaign) awaitFlush() {
	staging := filepath.Join(c.server.DataDir, "staging")
	require.NoError(c, mstest.WaitFor(c.Context(), func(context.Context) error {
		files, err := os.ReadDir(staging)
		if err == nil && len(files) == 0 {
			err = errors.New("nothing is being flushed")
		}
		return err
	}))
}
