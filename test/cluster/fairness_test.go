//go:build long

package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mscluster"
	"github.com/millstream/millstream/internal/testkit/mstest"
)

// crowd is what became of the queries of one org.
type crowd struct {
	mu       sync.Mutex
	waits    []time.Duration // in the queue
	services []time.Duration // from the slot to the last row
	statuses map[int]int
}

func (c *crowd) note(status int, wait, service time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.statuses == nil {
		c.statuses = make(map[int]int)
	}
	c.statuses[status]++
	if status == http.StatusOK {
		c.waits, c.services = append(c.waits, wait), append(c.services, service)
	}
}

func (c *crowd) p99() time.Duration {
	sorted := slices.Sorted(slices.Values(c.waits))
	return sorted[min(len(sorted)*99/100, len(sorted)-1)]
}

func (c *crowd) mean() time.Duration {
	var sum time.Duration
	for _, s := range c.services {
		sum += s
	}
	return sum / time.Duration(max(len(c.services), 1))
}

// query asks and notes what became of it.
func (c *crowd) query(ctx context.Context, client mstest.Client, statement string, headers ...string) {
	began := time.Now()
	body, err := json.Marshal(map[string]string{"statement": statement})
	if err != nil {
		return
	}
	res, err := client.Do(ctx, http.MethodPost, "/api/v1/query", body, append([]string{"Content-Type", "application/json"}, headers...)...)
	if err != nil || ctx.Err() != nil {
		return
	}
	var a struct {
		Stats struct {
			QueueMS float64 `json:"queue_ms"`
		} `json:"stats"`
	}
	if err := json.Unmarshal(res.Body, &a); err != nil {
		return
	}
	wait := time.Duration(a.Stats.QueueMS * float64(time.Millisecond))
	c.note(res.Status, wait, time.Since(began)-wait)
}

// appRows are the rows of each org.
const appRows = 100_000

// heavyStatement takes about so long when nothing else runs. It joins rows with rows, which takes time and little memory.
func heavyStatement(t *testing.T, client mstest.Client, wanted time.Duration) string {
	t.Helper()
	const tries, within = 8, 0.1
	pairs := 1e8
	for range tries {
		statement := joinOf(pairs)
		began := time.Now()
		client.Query(t, statement)
		took := time.Since(began)
		t.Logf("%.2g pairs joined in %v", pairs, took.Round(time.Millisecond))
		if math.Abs(float64(took-wanted)) <= within*float64(wanted) {
			return statement
		}
		pairs *= min(float64(wanted)/float64(took), 8)
	}
	t.Fatalf("no join takes %v: other work keeps the machine busy", wanted)
	return ""
}

// joinOf looks at so many pairs of rows, up to the square of appRows.
func joinOf(pairs float64) string {
	most := max(int(appRows*appRows/pairs), 1) // so that the left side has appRows at most
	return fmt.Sprintf("SELECT sum((a.n * b.n) %% 97) FROM app a JOIN app b ON a.n %% %d = b.n %% %[1]d WHERE a.n < %d",
		most, int(pairs*float64(most)/appRows))
}

// TestFairness lets one org send ten times its share of heavy queries, eighty at once for eight slots, while three others ask for little:
// their p99 wait stays below 1.5 times the heavy queries' mean service time, and none of them is refused. A heavy query takes a second
// alone, or twenty. It measures one router and three, and that naming another org in every second query gains nothing.
func TestFairness(t *testing.T) {
	const heavyClients = 80
	for name, x := range map[string]struct {
		routers int
		orgs    []string      // that the heavy queries name in turn
		heavy   time.Duration // that one takes alone
		lasts   time.Duration
	}{
		"one router":     {1, []string{"h"}, time.Second, time.Minute},
		"three routers":  {3, []string{"h"}, time.Second, time.Minute},
		"combinations":   {1, []string{"h", "h|x"}, time.Second, time.Minute},
		"twenty seconds": {1, []string{"h"}, 20 * time.Second, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			routers := x.routers
			c := mscluster.Start(t, mscluster.Layout{Routers: routers, Intakes: 1, Queriers: 1, Env: map[string]string{
				"MS_QUERIER_CONCURRENCY": "8", "MS_INTAKE_FLUSH_INTERVAL_SECS": "1", "MS_QUERIER_MEMORY_LIMIT": "2GiB",
				"MS_QUERIER_TIMEOUT_SECS": "3000", "MS_LIMITS_QUERY_TIMEOUT": "50m",
			}})
			light := []string{"a", "b", "c"}
			for _, org := range append([]string{"h", "x"}, light...) {
				var b strings.Builder
				for i := range appRows {
					fmt.Fprintf(&b, `{"n":%d,"level":%q}`+"\n", i, []string{"info", "error"}[i%2])
				}
				res := c.Routers[0].Client(org).Post(t, "/api/v1/intake/logs/app", b.String(), "Content-Type", "application/x-ndjson")
				require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
			}
			time.Sleep(5 * time.Second)
			heavy := heavyStatement(t, c.Routers[0].Client("h"), x.heavy)

			ctx, cancel := context.WithTimeout(t.Context(), x.lasts)
			defer cancel()
			var noisy crowd
			quiet := make([]crowd, len(light))
			var wait sync.WaitGroup
			for i := range heavyClients {
				router := c.Routers[i%routers]
				wait.Go(func() {
					for n := i / routers; ctx.Err() == nil; n++ {
						noisy.query(ctx, router.Client(x.orgs[n%len(x.orgs)]), heavy)
					}
				})
			}
			for i, org := range light {
				client := c.Routers[i%routers].Client(org)
				wait.Go(func() {
					for ctx.Err() == nil {
						wait.Go(func() { quiet[i].query(ctx, client, "SELECT level, count(*) FROM app GROUP BY level") })
						time.Sleep(2 * time.Second)
					}
				})
			}
			wait.Wait()
			t.Logf("heavy: %d answered, mean service %v, statuses %v", len(noisy.waits), noisy.mean().Round(time.Millisecond), noisy.statuses)
			for i, org := range light {
				t.Logf("light %s: %d answered, p99 wait %v, mean service %v, statuses %v", org, len(quiet[i].waits),
					quiet[i].p99().Round(time.Millisecond), quiet[i].mean().Round(time.Millisecond), quiet[i].statuses)
				require.Equal(t, map[int]int{http.StatusOK: len(quiet[i].waits)}, quiet[i].statuses, "no light query is refused")
				if routers == 1 {
					require.LessOrEqual(t, quiet[i].p99(), noisy.mean()*3/2)
				}
			}
			for i, r := range c.Routers {
				for line := range strings.SplitSeq(string(r.Client("").Get(t, "/metrics").Body), "\n") {
					if strings.HasPrefix(line, "millstream_query_queue") && !strings.Contains(line, "_bucket") {
						t.Logf("r%d %s", i+1, line)
					}
				}
			}
		})
	}
}
