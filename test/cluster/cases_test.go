package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mscluster"
	"github.com/millstream/millstream/internal/testkit/mstest"
	"github.com/millstream/millstream/internal/testkit/netproxy"
)

// numbered writes rows with numbers and knows which of them were acknowledged.
type numbered struct {
	client mstest.Client
	next   int
	acked  int
	sum    int // of the acknowledged numbers
}

// write sends n rows to several streams, so that all intakes hold some.
func (w *numbered) write(t *testing.T, n int) {
	t.Helper()
	for range n {
		w.next++
		res := w.client.Post(t, fmt.Sprintf("/api/v1/intake/logs/s%d", w.next%8), fmt.Sprintf(`[{"n":%d}]`, w.next))
		require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
		w.acked++
		w.sum += w.next
	}
}

// there returns how many rows there are, and the sum of their numbers.
func (w *numbered) there(ctx context.Context) (rows, sum int, warnings []string, err error) {
	var parts []string
	for i := range min(8, w.next) {
		parts = append(parts, fmt.Sprintf("SELECT n FROM s%d", (i+1)%8))
	}
	a, err := w.client.Ask(ctx, "SELECT count(*), CAST(coalesce(sum(n), 0) AS BIGINT) FROM ("+strings.Join(parts, " UNION ALL ")+")")
	if err != nil {
		return 0, 0, nil, err
	}
	var out [1][2]int
	text, err := json.Marshal(a.Rows)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out[0][0], out[0][1], a.Warnings, err
}

// complete waits for an answer without warnings, which must have every row once.
func (w *numbered) complete(t *testing.T) {
	t.Helper()
	require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) error {
		rows, sum, warnings, err := w.there(ctx)
		switch {
		case err != nil:
			return err
		case len(warnings) > 0:
			return fmt.Errorf("incomplete: %q", warnings)
		}
		require.Equal(t, [2]int{w.acked, w.sum}, [2]int{rows, sum}, "rows and the sum of their numbers")
		return nil
	}))
}

// TestX01NodeIDs: two living processes with one id, a data directory that comes back under another id, a copied one.
func TestX01NodeIDs(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, lazily(mscluster.Layout{Routers: 1, Intakes: 2, Queriers: 1}))
	w := &numbered{client: c.Routers[0].Client("t1")}
	w.write(t, 40)

	// The second process with a living id gives up; the first does not notice.
	twin := c.New(t, "i1", "intake")
	if twin.StartAlive(t.Context()) == nil {
		<-twin.Exited()
	}
	require.Contains(t, twin.Logs(), "is also the id of the process at")
	w.complete(t)

	// i1 comes back as i9 with the same disk: the log of the old id is read and published once.
	c.Intakes[0].Kill()
	moved := c.Intakes[0]
	moved.Set("MS_NODE_ID", "i9")
	moved.ID = "i9"
	require.NoError(t, moved.Start(t.Context()))
	c.WaitMembers(t)
	w.complete(t)
	w.write(t, 16)
	w.complete(t)

	// A copy of its data directory under yet another id: both publish what they found in the log, once.
	copied := c.New(t, "i8", "intake")
	moved.Kill()
	require.NoError(t, copyDir(copied.DataDir, moved.DataDir))
	require.NoError(t, mscluster.Each(t.Context(), []*mscluster.Node{moved, copied}, func(ctx context.Context, n *mscluster.Node) error {
		return n.Start(ctx)
	}))
	c.Intakes = append(c.Intakes, copied)
	c.WaitMembers(t)
	w.complete(t)
	require.NoError(t, mscluster.Each(t.Context(), c.Intakes, func(ctx context.Context, n *mscluster.Node) error { return n.Restart(ctx) }))
	w.complete(t)
}

func copyDir(to, from string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rest)
		if e.IsDir() {
			return os.MkdirAll(target, 0o750)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o600)
	})
}

// TestX03ShortCuts: whoever was cut off is back a few heartbeats later without a restart, and writes go to living nodes meanwhile.
func TestX03ShortCuts(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, lazily(mscluster.Layout{Routers: 2, Intakes: 3, Queriers: 1}))
	first, second := &numbered{client: c.Routers[0].Client("t1")}, &numbered{client: c.Routers[1].Client("t2")}
	both := func() {
		t.Helper()
		first.write(t, 16)
		second.write(t, 16)
		first.complete(t)
		second.complete(t)
	}
	both()

	// A router without PostgreSQL goes by its last view, and says so.
	c.Routers[0].ToPG.Set(netproxy.Stall)
	require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) error {
		res, err := c.Routers[0].Client("").Do(ctx, http.MethodGet, "/api/v1/readyz", nil)
		if err == nil && (res.Status != http.StatusOK || !strings.Contains(string(res.Body), "stale_secs")) {
			err = fmt.Errorf("status %d: %s", res.Status, res.Body)
		}
		return err
	}))
	both()
	c.Routers[0].ToPG.Set(netproxy.Pass)
	c.WaitMembers(t)
	both()

	// An intake that others cannot reach: its streams are taken by the next owners at once.
	c.Intakes[0].ToNode.Set(netproxy.Refuse)
	first.write(t, 16)
	second.write(t, 16)
	c.Intakes[0].ToNode.Set(netproxy.Pass)
	both()

	require.NoError(t, c.Postgres.Restart(t.Context()))
	c.WaitMembers(t)
	both()

	// One intake dies for good. Its rows are in files, so nothing is missing.
	require.NoError(t, c.Intakes[1].Restart(t.Context()))
	c.Intakes[1].Kill()
	first.write(t, 16)
	c.WaitMembers(t) // the dead node's row ages by itself
	second.write(t, 16)
}

// TestX05ScaleInLosesNothing: a rolling restart, all at once, one node fewer by a drain, one fewer by a kill whose disk comes back.
func TestX05ScaleInLosesNothing(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, lazily(mscluster.Layout{Routers: 1, Intakes: 3, Queriers: 1}))
	w := &numbered{client: c.Routers[0].Client("t1")}
	w.write(t, 32)
	for _, n := range c.Intakes {
		require.NoError(t, n.Restart(t.Context()))
		w.write(t, 8)
	}
	w.complete(t)
	for _, n := range c.Intakes {
		n.Kill()
	}
	c.StartAll(t)
	c.WaitMembers(t)
	w.write(t, 8)
	w.complete(t)

	res := w.client.Post(t, "/api/v1/node/drain", `{"node":"i1"}`)
	require.Equal(t, http.StatusAccepted, res.Status, "%s", res.Body)
	require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) error {
		res, err := w.client.Do(ctx, http.MethodGet, "/api/v1/node/drain", nil)
		if err == nil && !strings.Contains(string(res.Body), `"ended"`) {
			err = errors.New(string(res.Body))
		}
		return err
	}))
	w.write(t, 8)
	c.Intakes[0].Kill()
	require.NoError(t, os.RemoveAll(c.Intakes[0].DataDir))
	w.write(t, 8)
	w.complete(t)

	c.Intakes[1].Kill()
	_, _, warnings, err := w.there(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, warnings, "what the dead node holds is missed aloud")
	w.write(t, 8)
	require.NoError(t, c.Intakes[1].Start(t.Context()))
	w.complete(t)
}

// TestX06ShutdownWithoutObjectStore: the node leaves the members first, tries until its deadline, and keeps its log.
func TestX06ShutdownWithoutObjectStore(t *testing.T) {
	t.Parallel()
	layout := lazily(mscluster.Layout{Routers: 1, Intakes: 2, Queriers: 1})
	layout.Env["MS_NODE_DRAIN_TIMEOUT_SECS"] = "8"
	c := mscluster.Start(t, layout)
	w := &numbered{client: c.Routers[0].Client("t1")}
	w.write(t, 40)
	c.S3.Kill()
	node := c.Intakes[0]
	require.NoError(t, node.Signal(syscall.SIGTERM))
	require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) error {
		members, err := c.Routers[0].Members(ctx)
		if err == nil && members["i1"] {
			err = errors.New("i1 is still a member")
		}
		return err
	}))
	require.True(t, node.Running(), "it leaves before it has finished")
	w.write(t, 16) // others take its streams
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	select {
	case <-node.Exited():
	case <-ctx.Done():
		require.Fail(t, "it does not end")
	}
	require.NoError(t, c.S3.Start(t.Context()))
	node.Kill() // it is gone; the kit is told
	require.NoError(t, node.StartAlive(t.Context()))
	require.NoError(t, node.WaitReady(t.Context()))
	w.complete(t)
}
