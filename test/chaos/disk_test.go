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

// fillDisk writes a file until there is no room left.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
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
