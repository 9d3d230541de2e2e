//go:build long

package cluster_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mscluster"
)

// cpu returns the processor time that processes have taken so far.
func cpu(t *testing.T, nodes ...*mscluster.Node) time.Duration {
	t.Helper()
	var ticks int64
	for _, n := range nodes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.PID()))
		require.NoError(t, err)
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
		for _, f := range fields[11:13] { // utime and stime, behind pid and name
			v, err := strconv.ParseInt(f, 10, 64)
			require.NoError(t, err)
			ticks += v
		}
	}
	const perSecond = 100 // USER_HZ
	return time.Duration(ticks) * time.Second / perSecond
}

// rows returns a body of JSON lines like those of a web service.
func rows(n int) []byte {
	var b bytes.Buffer
	at := time.Now().Add(-time.Minute).UnixMicro()
	for i := range n {
		fmt.Fprintf(&b, `{"_timestamp":%d,"level":%q,"host":"web-%d","service":"shop","status":%d,"trace_id":"%032x","duration_ms":%d.%d,`+
			`"message":"GET /products/%d took %d ms for user u%d at %s"}`+"\n", at+int64(i), []string{"info", "warn", "error"}[i%3], i%17,
			200+i%5, i*7919, i%250, i%10, i%991, i%250, i%4999, "2026-11-30T00:00:00Z")
	}
	return b.Bytes()
}

// TestCostOfARouter compares the processor time of a row through router and intake with that of a standalone process, over the same
// PostgreSQL and S3, rounds in turn. Decisions of the issue: at most 1.4.
func TestCostOfARouter(t *testing.T) {
	const rounds, requests, perRequest = 5, 300, 5000
	c := mscluster.Start(t, mscluster.Layout{Routers: 1, Intakes: 1, Env: map[string]string{"MS_INTAKE_FLUSH_INTERVAL_SECS": "2"}})
	alone := c.New(t, "alone", "standalone")
	alone.Unset("MS_CLUSTER_TOKEN")
	require.NoError(t, alone.Start(t.Context()))
	body := rows(perRequest)
	load := func(front *mscluster.Node, nodes ...*mscluster.Node) float64 {
		before := cpu(t, nodes...)
		for range requests {
			res, err := front.Client("t1").Do(t.Context(), http.MethodPost, "/api/v1/intake/logs/app", body, "Content-Type", "application/x-ndjson")
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
		}
		time.Sleep(5 * time.Second) // the flush belongs to the cost
		return float64(cpu(t, nodes...)-before) / float64(requests*perRequest)
	}
	var ratios []float64
	for round := range rounds {
		a := load(alone, alone)
		b := load(c.Routers[0], c.Routers[0], c.Intakes[0])
		t.Logf("round %d: standalone %.2f µs a row, router and intake %.2f µs: %.2f", round, a/1000, b/1000, b/a)
		ratios = append(ratios, b/a)
	}
	slices.Sort(ratios)
	t.Logf("median %.2f", ratios[rounds/2])
}

// TestTwoQueriers compares how many queries two queriers finish with one, over an object store whose reads take 200 ms.
func TestTwoQueriers(t *testing.T) {
	const hours, clients = 240, 32
	c := mscluster.Start(t, mscluster.Layout{Routers: 1, Intakes: 1, Queriers: 0, Env: map[string]string{
		"MS_INTAKE_FLUSH_INTERVAL_SECS": "1", "MS_QUERIER_CONCURRENCY": "4", "MS_COMPACTOR_INTERVAL_SECS": "3600",
	}})
	slow := &http.Server{Handler: slowReads(t, c.S3.Endpoint), ReadHeaderTimeout: time.Second}
	address := serve(t, slow)
	querier := func(id string) *mscluster.Node {
		n := c.New(t, id, "querier")
		n.Set("MS_OBJECT_STORE_ENDPOINT", "http://"+address)
		require.NoError(t, n.Start(t.Context()))
		c.Queriers = append(c.Queriers, n)
		return n
	}
	querier("q1")
	c.WaitMembers(t)
	client := c.Routers[0].Client("t1")
	begin := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for h := range hours {
		var b strings.Builder
		for i := range 200 {
			at := begin.Add(time.Duration(h)*time.Hour + time.Duration(i)*time.Second)
			fmt.Fprintf(&b, `{"_timestamp":%q,"n":%d}`+"\n", at.Format(time.RFC3339), i)
		}
		// A stream an hour, so that each question reads an object of its own.
		res := client.Post(t, fmt.Sprintf("/api/v1/intake/logs/s%d", h), b.String(), "Content-Type", "application/x-ndjson")
		require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
	}
	require.NoError(t, c.Intakes[0].Restart(t.Context()))
	c.WaitMembers(t)
	measure := func() time.Duration {
		questions := make(chan int)
		var work sync.WaitGroup
		began := time.Now()
		for range clients {
			work.Go(func() {
				for h := range questions {
					a, err := client.Ask(t.Context(), fmt.Sprintf("SELECT sum(n) FROM s%d", h))
					if err != nil || jsonOf(t, a.Rows) != "[[19900]]" {
						t.Errorf("%v %v", err, a.Rows)
					}
				}
			})
		}
		for h := range hours {
			questions <- h
		}
		close(questions)
		work.Wait()
		return time.Since(began)
	}
	cold := func() { // without what was cached
		for _, q := range c.Queriers {
			q.Kill()
			require.NoError(t, os.RemoveAll(q.DataDir))
			require.NoError(t, q.Start(t.Context()))
		}
		c.WaitMembers(t)
	}
	var one, two []time.Duration
	for range 3 {
		cold()
		one = append(one, measure())
	}
	querier("q2")
	c.WaitMembers(t)
	for range 3 {
		cold()
		two = append(two, measure())
	}
	slices.Sort(one)
	slices.Sort(two)
	t.Logf("%d queries: one querier %v, two %v: %.2f times", hours, one[1], two[1], float64(one[1])/float64(two[1]))
}

// slowReads passes requests on to S3, reads after 200 ms.
func slowReads(t *testing.T, endpoint string) http.Handler {
	t.Helper()
	target, err := url.Parse("http://" + endpoint)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			time.Sleep(200 * time.Millisecond)
		}
		proxy.ServeHTTP(w, r)
	})
}

// serve runs a server on a free port until the test ends and returns its address.
func serve(t *testing.T, s *http.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-done })
	return l.Addr().String()
}
