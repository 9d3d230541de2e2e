package cluster_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mscluster"
	"github.com/millstream/millstream/internal/testkit/mstest"
	"github.com/millstream/millstream/internal/testkit/netproxy"
)

// Sizes of the tests of row limits.
const (
	rowLimit  = 1000 // of database lim, rows a second
	batchRows = 50
	writers   = 2 // connections that press on each router
	path      = "/api/v1/intake/logs/app?database=lim"
)

// batch is a request of batchRows rows.
var batch = []byte("[" + strings.TrimSuffix(strings.Repeat(`{"n":1},`, batchRows), ",") + "]") //nolint:gochecknoglobals // never changed

// limited is a cluster of routers over one intake node, with a database that has a row limit.
type limited struct {
	*mscluster.Cluster
	t     *testing.T
	body  []byte // of a request
	units int64  // that it takes of the limit
}

func newLimited(t *testing.T) limited {
	t.Helper()
	c := limited{mscluster.Start(t, lazily(mscluster.Layout{Routers: 3, Intakes: 1, Queriers: 1})), t, batch, batchRows}
	c.ask(c.Routers[0], fmt.Sprintf("CREATE DATABASE lim WITH ('ingest_rows_rate_limit' = '%d')", rowLimit))
	require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) error {
		for _, r := range c.Routers { // a router shows the limit with the first write after it has seen it
			res, err := r.Client("t1").Do(ctx, http.MethodPost, path, []byte(`[{"n":0}]`),
				"Content-Type", "application/json")
			if err == nil && res.Status != http.StatusOK {
				err = fmt.Errorf("status %d: %s", res.Status, res.Body)
			}
			if err != nil {
				return err
			}
			if _, ok, err := budgetGauge(ctx, r, "limit"); err != nil || !ok {
				return fmt.Errorf("router %s has not seen the limit: %w", r.ID, err)
			}
		}
		return nil
	}))
	return c
}

func (c limited) ask(r *mscluster.Node, statement string) [][]any {
	c.t.Helper()
	return r.Client("t1").Query(c.t, statement)
}

// pressed is what came of writing as fast as possible.
type pressed struct {
	units   int64 // rows or bytes that were admitted
	took    time.Duration
	routers int
}

// press writes batches through routers, as fast as they answer, while during runs. A refused writer pauses shortly and tries again.
func (c limited) press(routers []*mscluster.Node, during func()) pressed {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.t.Context())
	var (
		wg    sync.WaitGroup
		units atomic.Int64
	)
	began := time.Now()
	for _, r := range routers {
		for range writers {
			wg.Go(func() {
				transport := &http.Transport{}
				defer transport.CloseIdleConnections()
				client := r.Client("t1")
				client.Transport = transport
				for ctx.Err() == nil {
					// A request that has begun is counted whatever comes, so it has a context of its own.
					res, err := client.Do(c.t.Context(), http.MethodPost, path, c.body, "Content-Type", "application/json")
					if err == nil && res.Status == http.StatusOK {
						units.Add(c.units)
						continue
					}
					pause(ctx, 10*time.Millisecond)
				}
			})
		}
	}
	during()
	stop()
	wg.Wait()
	return pressed{units.Load(), time.Since(began), len(routers)}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// lasting returns what press runs while nothing else happens.
func lasting(d time.Duration) func() { return func() { time.Sleep(d) } }

// requireWithin checks rows that were admitted against the limit and what the event allows above it. In-flight batches of all writers are
// charged before they are counted.
func (c limited) requireWithin(name string, p pressed, limit, above float64) {
	c.t.Helper()
	bound := limit*p.took.Seconds() + above + float64(int64(p.routers*writers)*c.units)
	c.t.Logf("%s: %d in %v, %.0f allowed", name, p.units, p.took.Round(time.Millisecond), bound)
	require.LessOrEqual(c.t, float64(p.units), bound, name)
	require.Positive(c.t, p.units, name)
}

// budgetGauge reads a metric of the database's budget at a router; false when it shows none.
func budgetGauge(ctx context.Context, r *mscluster.Node, name string) (float64, bool, error) {
	res, err := r.Client("").Do(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return 0, false, err
	}
	prefix := fmt.Sprintf(`millstream_quota_%s{database="lim",kind="rows",org="t1"} `, name)
	for line := range strings.Lines(string(res.Body)) {
		if text, ok := strings.CutPrefix(line, prefix); ok {
			value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			return value, true, err
		}
	}
	return 0, false, nil
}

// waitBudget waits until a gauge has the value at all routers given.
func (c limited) waitBudget(routers []*mscluster.Node, name string, value float64) {
	c.t.Helper()
	for _, r := range routers {
		require.NoError(c.t, mstest.WaitFor(c.t.Context(), func(ctx context.Context) error {
			got, ok, err := budgetGauge(ctx, r, name)
			if err == nil && (!ok || got != value) {
				err = fmt.Errorf("router %s shows %s %v, not yet %v", r.ID, name, got, value)
			}
			return err
		}))
	}
}

// waitShares waits until the shares in force at the routers sum up to the limit, and each is at least least.
func (c limited) waitShares(routers []*mscluster.Node, limit, least float64) {
	c.t.Helper()
	require.NoError(c.t, mstest.WaitFor(c.t.Context(), func(ctx context.Context) error {
		sum, smallest := 0.0, limit
		for _, r := range routers {
			share, _, err := budgetGauge(ctx, r, "allocation")
			if err != nil {
				return err
			}
			sum, smallest = sum+share, min(smallest, share)
		}
		if sum < 0.97*limit || sum > limit || smallest < least {
			return fmt.Errorf("shares sum up to %v of %v, the smallest is %v of at least %v", sum, limit, smallest, least)
		}
		return nil
	}))
}

// TestRowLimitOfACluster presses on three routers that share the limit of one database, through a start, a join, a shift of demand, a
// crash, a change of the limit, an outage of PostgreSQL and a partition. Rows admitted are held against the bounds that each event has,
// computed from the time that really passed.
func TestRowLimitOfACluster(t *testing.T) {
	t.Parallel()
	c := newLimited(t)
	all := c.Routers
	const phase = 4 * time.Second

	// The first writes: buckets begin with their part of a second, and each router has the whole limit until its first share comes.
	p := c.press(all, lasting(phase))
	c.requireWithin("start", p, rowLimit, rowLimit+3*rowLimit)
	c.waitBudget(all, "limit", rowLimit)

	p = c.press(all, func() { c.waitShares(all, rowLimit, 0.9*rowLimit/3); time.Sleep(phase) })
	c.requireWithin("steady", p, rowLimit, rowLimit)

	_, counted, err := budgetGauge(t.Context(), c.Intakes[0], "limit")
	require.NoError(t, err)
	require.False(t, counted, "a batch that a router hands on is charged there alone")

	// A fourth one joins: one bucket, its quota for a heartbeat, one batch (of each writer).
	fourth := c.New(t, "r4", "router")
	require.NoError(t, fourth.Start(t.Context()))
	c.Routers = append(all[:3:3], fourth)
	c.WaitMembers(t)
	var joined pressed
	p = c.press(all, func() {
		joined = c.press([]*mscluster.Node{fourth}, func() { c.waitShares(c.Routers, rowLimit, 0.9*rowLimit/4) })
	})
	c.requireWithin("join", pressed{p.units + joined.units, p.took, 4}, rowLimit, rowLimit+rowLimit+rowLimit/4)

	// Demand shifts to one router: it gets what the others do not use.
	p = c.press(all[:1], func() { c.waitAtLeast(all[0], 0.9*rowLimit) })
	c.requireWithin("shift", p, rowLimit, 2*rowLimit)

	// A router crashes: the others get its share.
	p = c.press(append(all[1:3:3], fourth), func() {
		all[0].Kill()
		c.waitShares(append(all[1:3:3], fourth), rowLimit, 0.9*rowLimit/3)
	})
	c.requireWithin("crash", p, rowLimit, 2*rowLimit)

	// The limit is cut: every router follows when it sees the change.
	rest := append(all[1:3:3], fourth)
	c.ask(rest[0], "ALTER DATABASE lim SET 'ingest_rows_rate_limit' = '300'")
	c.press(rest, func() { c.waitBudget(rest, "limit", 300) })
	p = c.press(rest, lasting(phase))
	c.requireWithin("limit cut", p, 300, 300)

	// PostgreSQL is away: shares and limit stay, and writes go on.
	before := c.shares(rest)
	for _, r := range rest {
		r.ToPG.Set(netproxy.Refuse)
	}
	p = c.press(rest, lasting(2*phase))
	c.requireWithin("outage", p, 300, 300)
	require.Equal(t, before, c.shares(rest))

	// They come back one after the other: none takes what another one has.
	rest[0].ToPG.Set(netproxy.Pass)
	p = c.press(rest, lasting(2*time.Second))
	c.requireWithin("after the outage", p, 300, 300)
	for _, r := range rest {
		r.ToPG.Set(netproxy.Pass)
	}
	p = c.press(rest, func() { time.Sleep(phase); c.waitShares(rest, 300, 0.9*100) })
	c.requireWithin("all back", p, 300, 300)

	// One router is cut off alone: its share is given away, so at most its own quota is admitted beside the limit.
	own, _, err := budgetGauge(t.Context(), rest[0], "allocation")
	require.NoError(t, err)
	rest[0].ToPG.Set(netproxy.Refuse)
	p = c.press(rest, func() { c.waitShares(rest[1:], 300, 0.9*150) })
	c.requireWithin("partition", p, 300, 300+own*p.took.Seconds())
	still, _, err := budgetGauge(t.Context(), rest[0], "allocation")
	require.NoError(t, err)
	require.InDelta(t, own, still, 0, "never back to the whole limit")
	rest[0].ToPG.Set(netproxy.Pass)

	// Stopping gives the share back at once.
	p = c.press(rest[1:], func() { rest[0].Stop(); c.waitShares(rest[1:], 300, 0.9*150) })
	c.requireWithin("leave", p, 300, 300)
}

// shares returns what is in force at routers.
func (c limited) shares(routers []*mscluster.Node) (out []float64) {
	c.t.Helper()
	for _, r := range routers {
		share, ok, err := budgetGauge(c.t.Context(), r, "allocation")
		require.NoError(c.t, err)
		require.True(c.t, ok)
		out = append(out, share)
	}
	return out
}

// waitAtLeast waits until the share of a router has grown to least.
func (c limited) waitAtLeast(r *mscluster.Node, least float64) {
	c.t.Helper()
	require.NoError(c.t, mstest.WaitFor(c.t.Context(), func(ctx context.Context) error {
		share, _, err := budgetGauge(ctx, r, "allocation")
		if err == nil && share < least {
			err = fmt.Errorf("router %s has a share of %v, not yet %v", r.ID, share, least)
		}
		return err
	}))
}

// TestByteRateOfACluster presses on three routers that share the byte rate of an org. Every router takes a request of the whole burst, none
// takes a larger one, and together they admit what the limit says.
func TestByteRateOfACluster(t *testing.T) {
	t.Parallel()
	const mib, limit, burst = 1 << 20, 1 << 18, 1 << 19
	l := lazily(mscluster.Layout{Routers: 3, Intakes: 1, Queriers: 1})
	l.Env["MS_LIMITS_INGESTION_RATE_MB"] = strconv.FormatFloat(float64(limit)/mib, 'f', -1, 64)
	l.Env["MS_LIMITS_INGESTION_BURST_SIZE_MB"] = strconv.FormatFloat(float64(burst)/mib, 'f', -1, 64)
	c := limited{Cluster: mscluster.Start(t, l), t: t}
	c.ask(c.Routers[0], "CREATE DATABASE lim")
	for _, r := range c.Routers {
		res := r.Client("t1").Post(t, path, sized(burst))
		require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
		push := fmt.Sprintf(`{"streams":[{"stream":{"a":"b"},"values":[["%d","%s"]]}]}`, time.Now().UnixNano(), strings.Repeat("x", burst))
		res = r.Client("t1").Post(t, "/loki/api/v1/push", push)
		require.Equal(t, http.StatusRequestEntityTooLarge, res.Status, "%s", res.Body)
		require.Contains(t, string(res.Body), strconv.Itoa(burst))
	}
	c.body, c.units = []byte(sized(10_000)), 10_000
	p := c.press(c.Routers, lasting(6*time.Second))
	// The buckets were empty; each is refilled by the whole rate for the moment before its first share.
	c.requireWithin("bytes", p, limit, 3*limit)

	require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) error {
		res, err := c.Routers[0].Client("t1").Do(ctx, http.MethodPost, path, c.body, "Content-Type", "application/json")
		if err == nil && !strings.Contains(string(res.Body), "are this node's share") {
			err = fmt.Errorf("status %d: %s", res.Status, res.Body)
		}
		return err
	}), "the refusal tells the limit and the share")
}

// sized is a JSON array of exactly so many bytes.
func sized(n int) string {
	const frame = len(`[{"n":""}]`)
	return `[{"n":"` + strings.Repeat("x", n-frame) + `"}]`
}
