package limits_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mscluster"
	"github.com/millstream/millstream/internal/testkit/mstest"
)

// TestRateOverManyRouters sends a batch of half the burst a second, by one router and by up to ten, of which half are killed: it passes at
// any number of routers, after a kill at the latest when it was told to. A changed limit reaches all of them, and a broken file none.
func TestRateOverManyRouters(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "overrides.yaml")
	put := func(text string) {
		require.NoError(t, os.WriteFile(file+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	put("overrides:\n  a: {ingestion_rate_mb: 2, ingestion_burst_size_mb: 2}\n")
	c := mscluster.Start(t, mscluster.Layout{Routers: 1, Intakes: 1, Queriers: 1, Env: map[string]string{
		"MS_OVERRIDES_FILE": file, "MS_ROUTER_RATE_LIMIT_QUERY_QPS": "2", "MS_ROUTER_RATE_LIMIT_BURST_MULTIPLIER": "2",
	}})
	const most = 10
	next := 0
	send := func(routers []*mscluster.Node, n int) mstest.Response {
		next++
		return routers[next%len(routers)].Client("a").Post(t, "/loki/api/v1/push", string(body(n)))
	}
	killed, waited := false, 0
	everySecond := func(routers []*mscluster.Node, seconds int) {
		t.Helper()
		for range seconds {
			res := send(routers, mib)
			if res.Status == http.StatusTooManyRequests && killed { // shares of the dead are given away after some seconds
				requireWait(t, res)
				wait, err := strconv.Atoi(res.Header.Get("Retry-After"))
				require.NoError(t, err)
				time.Sleep(time.Duration(wait) * time.Second)
				next-- // the same router
				res = send(routers, mib)
				waited++
			}
			require.Equal(t, http.StatusNoContent, res.Status, "%d routers: %s", len(routers), res.Body)
			time.Sleep(time.Second)
		}
	}
	everySecond(c.Routers, 4)
	for i := range most - 1 {
		n := c.New(t, fmt.Sprintf("r%d", i+2), "router")
		require.NoError(t, n.Start(t.Context()))
		c.Routers = append(c.Routers, n)
		everySecond(c.Routers, 1)
	}
	everySecond(c.Routers, 12)
	left := c.Routers[:most/2]
	for _, n := range c.Routers[most/2:] {
		n.Kill()
	}
	killed = true
	everySecond(left, 12)
	t.Logf("%d batches were told to wait after the kill, and passed then", waited)

	put("overrides:\n  a: [\n")
	everySecond(left, 2)
	written := time.Now()
	put("overrides:\n  a: {ingestion_rate_mb: 0.5, ingestion_burst_size_mb: 0.5}\n")
	for _, n := range left {
		require.NoError(t, mstest.WaitFor(t.Context(), func(context.Context) error {
			res := n.Client("a").Post(t, "/loki/api/v1/push", string(body(mib)))
			if res.Status != http.StatusRequestEntityTooLarge {
				return fmt.Errorf("status %d: %s", res.Status, res.Body)
			}
			return nil
		}))
	}
	t.Logf("%d routers refuse by the new limit %v after it was written", len(left), time.Since(written).Round(time.Millisecond))

	requireAudit(t, left[0], "overrides.load ", "overrides.apply a a: ingestion_burst_size_mb 2 → 0.5, ingestion_rate_mb 2 → 0.5")

	// Requests are counted by each router for itself.
	ask := func() (passed, refused int) {
		for range 8 {
			res := left[0].Client("b").Get(t, "/api/v1/query?statement=SHOW+STREAMS")
			require.Contains(t, res.Header.Get("RateLimit-Policy"), `"query";q=4;w=2`)
			switch res.Status {
			case http.StatusOK:
				passed++
			case http.StatusTooManyRequests:
				requireWait(t, res)
				refused++
			}
		}
		return passed, refused
	}
	passed, refused := ask()
	require.GreaterOrEqual(t, passed, 4)
	require.Equal(t, 8, passed+refused)
	t.Logf("of 8 queries at once %d passed, %d were refused", passed, refused)
	require.Empty(t, c.Intakes[0].Client("b").Get(t, "/api/v1/query").Header.Get("RateLimit"), "only routers count")
}

// requireAudit checks what the audit log has about the overrides file, the oldest first, by a text of each record: every change once,
// although every process of the cluster makes it.
func requireAudit(t *testing.T, n *mscluster.Node, want ...string) {
	t.Helper()
	var got []string
	require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) error {
		res, err := n.Client("").Do(ctx, http.MethodGet, "/api/v1/audit", nil)
		if err != nil {
			return err
		}
		var log struct {
			Changes []struct{ Action, Org, Object, Detail string }
		}
		if err := json.Unmarshal(res.Body, &log); err != nil {
			return err
		}
		got = nil
		for _, c := range slices.Backward(log.Changes) {
			if c.Object == "overrides file" {
				_, text, _ := strings.Cut(c.Detail, "; ")
				got = append(got, c.Action+" "+strings.TrimSpace(c.Org+" "+text))
			}
		}
		if len(got) < len(want) {
			return fmt.Errorf("%q", got)
		}
		return nil
	}))
	require.Equal(t, want, got)
}
