package limits_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// orgsVariable sets how many orgs TestManyOrgsTakeLittleMemory comes with; a million take minutes.
const orgsVariable = "MILLSTREAM_TEST_ORGS"

// TestManyOrgsTakeLittleMemory comes with orgs that nobody has heard of, each of which asks for its limits, asks a question and writes a
// request that is charged to its rate and then turns out to be broken. The process's memory hardly grows.
func TestManyOrgsTakeLittleMemory(t *testing.T) {
	t.Parallel()
	orgs := 10_000
	if text := os.Getenv(orgsVariable); text != "" {
		var err error
		orgs, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	s := mstest.Start(t, mstest.Config{Env: map[string]string{
		"MS_LIMITS_INGESTION_RATE_MB": "1", "MS_LIMITS_MAX_GLOBAL_STREAMS_PER_USER": "1", "MS_LOG_LEVEL": "error",
	}})
	send := func(n int) {
		var next atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				transport := &http.Transport{}
				defer transport.CloseIdleConnections()
				for next.Add(1) <= int64(n) {
					c := s.Client(fmt.Sprintf("org-%x", rand.Uint64()))
					c.Transport = transport
					for _, request := range []struct {
						method, path, body string
						want               int
					}{
						{http.MethodPost, "/loki/api/v1/push", `{"streams":[`, http.StatusBadRequest},
						{http.MethodGet, "/config/tenant/v1/limits", "", http.StatusOK},
						{http.MethodGet, "/api/v1/query?statement=SHOW+STREAMS", "", http.StatusOK},
					} {
						if request.method == http.MethodGet && orgs > 100_000 && rand.IntN(10) > 0 {
							continue // of a million not each asks everything
						}
						res, err := c.Do(context.Background(), request.method, request.path, []byte(request.body), "Content-Type", "application/json")
						if err != nil || res.Status != request.want {
							t.Errorf("%s: %v, status %d: %s", request.path, err, res.Status, res.Body)
							return
						}
					}
				}
			})
		}
		wg.Wait()
	}
	send(2000)
	before := metric(t, s, "process_resident_memory_bytes")
	send(orgs)
	grown := metric(t, s, "process_resident_memory_bytes") - before
	t.Logf("%d orgs, %.1f MiB more", orgs, grown/mib)
	require.Less(t, grown, float64(64*mib))
	for line := range strings.Lines(string(s.Client("").Get(t, "/metrics").Body)) {
		require.False(t, strings.Contains(line, `org="org-`) && !strings.Contains(line, "discarded"), "a series for an org: %s", line)
	}
}

// metric returns a metric of the server that has no labels.
func metric(t *testing.T, s *mstest.Server, name string) float64 {
	t.Helper()
	for line := range strings.Lines(string(s.Client("").Get(t, "/metrics").Body)) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			require.NoError(t, err)
			return v
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
