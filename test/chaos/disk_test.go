package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
	"github.com/millstream/millstream/internal/testkit/smalldisk"
	"github.com/millstream/millstream/internal/wal"
)

// TestFullDisk is case W02 with the whole program: its data directory lies on a file system that fills up.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	program, err := mstest.Program()
	require.NoError(t, err)
	smalldisk.Run(t, "160m", fullDisk, mstest.EnvProgram+"="+program)
}

func fullDisk(t *testing.T, dir string) {
	t.Helper()
	c := newCampaign(t, mstest.Start(t, mstest.Config{DataDir: filepath.Join(dir, "data"), Env: restless()}), 3)
	c.begin()
	began := time.Now()
	filler := filepath.Join(dir, "filler")

	c.awaitAcknowledged()
	fillDisk(t, filler)
	c.awaitRefused()
	c.verify() // asks, so reads go on
	c.awaitFlushed()
	require.NoError(t, os.Remove(filler))
	c.awaitAcknowledged()
	c.verify()
	c.server.Kill()
	require.NoError(t, c.server.Start(t.Context()), "start after the disk was full")
	c.verify()

	c.awaitAcknowledged()
	fillDisk(t, filler)
	c.awaitRefused()
	c.server.Kill()
	if err := c.server.Start(t.Context()); err != nil {
		t.Logf("start on the full disk: %v", err)
	} else {
		c.verify()
		c.server.Kill()
	}
	require.NoError(t, os.Remove(filler))
	require.NoError(t, c.server.Start(t.Context()), "start after a kill on the full disk")
	c.awaitAcknowledged()
	c.verify()
	c.stop()
	require.NoError(t, c.server.Restart(t.Context()))
	c.verifyAll()
	c.figures(2, began)
}

// fullDiskRounds is the campaign of killRounds on a file system that fills up: each round leaves no or hardly any room, lets the rows
// flow and kills the program, which then starts on the full disk, or once there is room again.
func fullDiskRounds(t *testing.T, dir string, seed uint64, rounds int) {
	t.Helper()
	c := newCampaign(t, mstest.Start(t, mstest.Config{DataDir: filepath.Join(dir, "data"), Env: restless()}), seed)
	c.begin()
	began := time.Now()
	filler := filepath.Join(dir, "filler")
	for round := range rounds {
		if round > 0 && round%laneRounds == 0 {
			c.turn(round / laneRounds)
		}
		strike := c.killOnFullDisk(filler)
		require.NoError(t, c.server.Start(t.Context()), "start after %s", strike)
		c.verify()
		t.Logf("round %d: %s", round, strike)
	}
	c.awaitAcknowledged()
	c.stop()
	require.NoError(t, c.server.Restart(t.Context()))
	c.verifyAll()
	c.figures(rounds, began)
}

// killOnFullDisk fills the disk, kills the program in one of several ways, makes room again and says how it was.
func (c *campaign) killOnFullDisk(filler string) string {
	c.rest(500)
	fillDisk(c.T, filler)
	free := c.random.Int64N(4 << 20) // what the program and its log find
	if c.random.IntN(2) == 0 {
		free = 0
	}
	info, err := os.Stat(filler)
	require.NoError(c, err)
	require.NoError(c, os.Truncate(filler, max(0, info.Size()-free)))
	strike := fmt.Sprintf("a kill with %d bytes free", free)
	switch c.random.IntN(4) {
	case 0: // before it notices
		c.rest(300)
		c.server.Kill()
	case 1:
		c.awaitRefused()
		c.rest(500)
		c.server.Kill()
	case 2:
		c.rest(1500)
		c.server.Kill()
		strike += ", again after a start"
		if err := c.server.StartAlive(c.Context()); err == nil {
			c.rest(500)
			c.server.Kill()
		}
	default:
		c.awaitRefused()
		strike += " once there was room again"
		require.NoError(c, os.Remove(filler))
		c.rest(500)
		c.server.Kill()
		return strike
	}
	require.NoError(c, os.Remove(filler))
	return strike
}

// fillDisk writes a file until there is no room left. It takes no more than is free when it begins: the room of its reserve, which the
// program gives up meanwhile, is for the program.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	_, free, err := wal.OS{}.Space(filepath.Dir(path))
	require.NoError(t, err)
	f, err := os.Create(path)
	require.NoError(t, err)
	for size := int64(1 << 20); size > 0 && free > 0; {
		n, err := f.Write(make([]byte, min(size, free)))
		if free -= int64(n); err != nil {
			size /= 2
		}
	}
	require.NoError(t, f.Close())
}

// awaitAcknowledged returns when every lane has had another request acknowledged.
func (c *campaign) awaitAcknowledged() {
	c.Helper()
	before := make(map[*lane]int64)
	for _, l := range c.lanes() {
		_, before[l] = l.totals()
	}
	require.NoError(c, mstest.WaitFor(c.Context(), func(context.Context) error {
		for _, l := range c.lanes() {
			if _, acked := l.totals(); acked == before[l] {
				return fmt.Errorf("nothing is acknowledged on %s", l)
			}
		}
		return nil
	}))
}

// awaitRefused returns when a request of every lane has been refused for lack of room.
func (c *campaign) awaitRefused() {
	c.Helper()
	l := c.lanes()[0]
	require.NoError(c, mstest.WaitFor(c.Context(), func(ctx context.Context) error {
		s := l.take(1)
		err := l.send(ctx, c.wire(l), s)
		var answer *mstest.StatusError
		switch {
		case err == nil:
			l.ack(s)
			return errors.New("rows are still acknowledged")
		case errors.As(err, &answer) && answer.Status == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != "":
			return nil
		}
		return err
	}))
}

// awaitFlushed returns when the buffers are empty.
func (c *campaign) awaitFlushed() {
	c.Helper()
	require.NoError(c, mstest.WaitFor(c.Context(), func(context.Context) error {
		if rows := counter(c.T, c.server, "millstream_ingest_buffer_rows"); rows > 0 {
			return fmt.Errorf("%v rows are not flushed", rows)
		}
		return nil
	}))
}
