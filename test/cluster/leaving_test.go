package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mscluster"
	"github.com/millstream/millstream/internal/testkit/mstest"
)

// TestADrainedNodeHoldsNothing drains an intake over the API and then destroys it with its volume: no row is missing.
func TestADrainedNodeHoldsNothing(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, lazily(mscluster.Layout{Routers: 1, Intakes: 2, Queriers: 1}))
	client := c.Routers[0].Client("t1")
	const streams = 12
	for i := range streams {
		require.Equal(t, http.StatusOK, client.Post(t, fmt.Sprintf("/api/v1/intake/logs/s%d", i), `[{"n":1},{"n":2}]`).Status)
	}
	res := client.Post(t, "/api/v1/node/drain", `{"node":"nobody"}`)
	require.Equal(t, http.StatusNotFound, res.Status, "%s", res.Body)
	require.Equal(t, http.StatusBadRequest, client.Post(t, "/api/v1/node/drain", `{}`).Status)
	res = client.Post(t, "/api/v1/node/drain", `{"node":"i1"}`)
	require.Equal(t, http.StatusAccepted, res.Status, "%s", res.Body)
	require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) error {
		res, err := client.Do(ctx, http.MethodGet, "/api/v1/node/drain", nil)
		if err != nil {
			return err
		}
		var body struct {
			Drains []struct {
				Node          string
				UnflushedRows int64 `json:"unflushed_rows"`
				Ended         time.Time
			}
		}
		if err := json.Unmarshal(res.Body, &body); err != nil {
			return err
		}
		if len(body.Drains) != 1 || body.Drains[0].Ended.IsZero() {
			return fmt.Errorf("not ended: %s", res.Body)
		}
		return nil
	}))
	drained := c.Intakes[0]
	require.Equal(t, http.StatusServiceUnavailable, drained.Client("").Get(t, "/api/v1/readyz").Status)
	require.True(t, drained.Running(), "a drained process stays until it is stopped")
	drained.Kill()
	require.NoError(t, os.RemoveAll(drained.DataDir))
	for i := range streams {
		require.JSONEq(t, `[[2]]`, jsonOf(t, eventually(t, client, fmt.Sprintf("SELECT count(*) FROM s%d", i))))
	}
}

// TestARollingRestartIsNotNoticed restarts every process in order, one after the other, under load.
func TestARollingRestartIsNotNoticed(t *testing.T) {
	t.Parallel()
	layout := mscluster.Split()
	layout.Env = map[string]string{"MS_INTAKE_FLUSH_INTERVAL_SECS": "1"}
	c := mscluster.Start(t, layout)
	var routers atomic.Pointer[[]mstest.Client]
	setRouters := func(list ...*mscluster.Node) {
		var clients []mstest.Client
		for _, r := range list {
			clients = append(clients, r.Client("t1"))
		}
		routers.Store(&clients)
	}
	setRouters(c.Routers...)
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var problems []string
	var written, asked atomic.Int64
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() == nil {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	var load sync.WaitGroup
	for w := range 3 {
		load.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				clients := *routers.Load()
				res, err := clients[i%len(clients)].Do(ctx, http.MethodPost, fmt.Sprintf("/api/v1/intake/logs/s%d", w), []byte(`[{"n":1}]`),
					"Content-Type", "application/json")
				if err != nil || res.Status != http.StatusOK {
					note("write: %v %d %s", err, res.Status, res.Body)
					continue
				}
				written.Add(1)
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	load.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			clients := *routers.Load()
			a, err := clients[i%len(clients)].Ask(ctx, "SELECT count(*) FROM s0")
			var status *mstest.StatusError
			if errors.As(err, &status) && status.Status == http.StatusNotFound && asked.Load() == 0 {
				continue // the first row has not come yet
			}
			if err != nil || len(a.Warnings) > 0 {
				note("query: %v %v", err, a.Warnings)
			}
			asked.Add(1)
			time.Sleep(20 * time.Millisecond) // fewer than router.rate_limit.query_qps
		}
	})
	for _, n := range c.All() {
		if n.Role == "router" { // what a load balancer does when readyz says 503
			for _, other := range c.Routers {
				if other != n {
					setRouters(other)
				}
			}
		}
		require.NoError(t, n.Restart(t.Context()))
		c.WaitMembers(t)
		setRouters(c.Routers...)
	}
	cancel()
	load.Wait()
	t.Logf("%d requests written, %d counts asked", written.Load(), asked.Load())
	require.Empty(t, problems)
	var total int64
	for w := range 3 {
		rows := eventually(t, c.Routers[0].Client("t1"), fmt.Sprintf("SELECT count(*) FROM s%d", w))
		n, err := rows[0][0].(json.Number).Int64()
		require.NoError(t, err)
		total += n
	}
	require.GreaterOrEqual(t, total, written.Load())
	require.LessOrEqual(t, total, written.Load()+3, "the last request of each writer was cut off")
}

// TestTheSameIDTwice: a second process under a living node's id waits, and gives up with an error that says why.
func TestTheSameIDTwice(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, mscluster.Layout{Routers: 1, Intakes: 1, Queriers: 1})
	twin := c.New(t, "i1", "intake")
	err := twin.StartAlive(t.Context())
	if err == nil {
		require.Equal(t, http.StatusServiceUnavailable, twin.Client("").Get(t, "/api/v1/readyz").Status)
		<-twin.Exited()
	}
	require.Contains(t, twin.Logs(), "is also the id of the process at")
	require.Equal(t, http.StatusOK, c.Routers[0].Client("t1").Post(t, "/api/v1/intake/logs/app", `[{"n":1}]`).Status, "the first goes on")

	// A process that comes back with the data directory of the dead one takes its place at once.
	c.Intakes[0].Kill()
	require.NoError(t, c.Intakes[0].Start(t.Context()))
	require.JSONEq(t, `[[1]]`, jsonOf(t, eventually(t, c.Routers[0].Client("t1"), "SELECT count(*) FROM app")))
}

// TestALostVolumeIsMissedAloud: a node comes back on an empty disk. Answers go on naming what may be missing until somebody gives it up.
func TestALostVolumeIsMissedAloud(t *testing.T) {
	t.Parallel()
	c := mscluster.Start(t, lazily(mscluster.Layout{Routers: 1, Intakes: 1, Queriers: 1}))
	client := c.Routers[0].Client("t1")
	require.Equal(t, http.StatusOK, client.Post(t, "/api/v1/intake/logs/app", `[{"n":1}]`).Status)
	require.NoError(t, c.Intakes[0].Restart(t.Context()))
	c.WaitMembers(t)
	require.Equal(t, http.StatusOK, client.Post(t, "/api/v1/intake/logs/app", `[{"n":2}]`).Status)
	c.Intakes[0].Kill()
	require.NoError(t, os.RemoveAll(c.Intakes[0].DataDir))
	require.NoError(t, c.Intakes[0].Start(t.Context()))
	c.WaitMembers(t)
	require.Equal(t, http.StatusOK, client.Post(t, "/api/v1/intake/logs/app", `[{"n":3}]`).Status)
	a, err := client.Ask(t.Context(), "SELECT count(*) FROM app")
	require.NoError(t, err)
	require.JSONEq(t, `[[2]]`, jsonOf(t, a.Rows))
	require.Len(t, a.Warnings, 1)
	var epoch int64
	_, err = fmt.Sscanf(a.Warnings[0], "node i1 epoch %d unreachable", &epoch)
	require.NoError(t, err, a.Warnings[0])

	program, err := mstest.Program()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, "cluster", "forget", "i1", "--epoch", fmt.Sprint(epoch), "--dsn", c.Postgres.DSN())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "is forgotten")
	require.JSONEq(t, `[[2]]`, jsonOf(t, eventually(t, client, "SELECT count(*) FROM app")))
}
