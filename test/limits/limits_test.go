package limits_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mib = 1 << 20

// example is the overrides file of Loki's documentation.
const example = "../../internal/overrides/testdata/seed.yaml"

// inForce is what a server says of one org's limits.
type inForce struct {
	Limits map[string]struct {
		Value  any    `json:"value"`
		Origin string `json:"origin"`
		Usage  any    `json:"usage"`
	} `json:"limits"`
}

func limitsOf(t testing.TB, c mstest.Client) inForce {
	t.Helper()
	res := c.Get(t, "/config/tenant/v1/limits")
	require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
	var out inForce
	require.NoError(t, json.Unmarshal(res.Body, &out))
	return out
}

// start starts a server with an overrides file of the text, and returns both.
func start(t *testing.T, text string, env map[string]string) (*mstest.Server, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "overrides.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	all := map[string]string{"MS_OVERRIDES_FILE": file}
	maps.Copy(all, env)
	return mstest.Start(t, mstest.Config{Env: all}), file
}

// TestLokisExample starts a server with the example and finds all ten values in force, and both boundaries at both orgs at once.
func TestLokisExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(example)
	require.NoError(t, err)
	s, _ := start(t, string(text), nil)
	for org, want := range map[string]map[string]any{
		"medium_user": {
			"ingestion_rate_mb": 10.0, "ingestion_burst_size_mb": 20.0, "max_query_parallelism": 32.0,
			"max_global_streams_per_user": 5000.0, "split_queries_by_interval": "30m",
		},
		"big_user": {
			"ingestion_rate_mb": 30.0, "ingestion_burst_size_mb": 40.0, "max_query_parallelism": 64.0,
			"max_global_streams_per_user": 40000.0, "split_queries_by_interval": "15m",
		},
	} {
		got := limitsOf(t, s.Client(org))
		for name, value := range want {
			require.Equal(t, value, got.Limits[name].Value, "%s of %s", name, org)
			require.Equal(t, "overrides", got.Limits[name].Origin)
		}
		require.Equal(t, "default", got.Limits["max_line_size"].Origin)
	}
	require.Contains(t, string(s.Client("").Get(t, "/runtime_config").Body), `"split_queries_by_interval":"15m"`)

	var wg sync.WaitGroup
	for org, rate := range map[string]int{"medium_user": 10, "big_user": 30} {
		wg.Go(func() { floodUntilLimited(t, s.Client(org), rate) })
	}
	wg.Wait()
}

// body is a request of n bytes whose rows cost little: one row, and spaces.
func body(n int) []byte {
	row := []byte(`{"streams":[{"stream":{"a":"b"},"values":[["` + strconv.FormatInt(time.Now().UnixNano(), 10) + `","x"]]}]}`)
	return append(row, []byte(strings.Repeat(" ", n-len(row)))...)
}

// floodUntilLimited sends requests of a mebibyte for some seconds as fast as they are taken. What is admitted is at most the burst, twice
// the rate for medium_user, and the rate times the time; and when the server is fast enough to reach the limit, not less than that by more
// than the burst.
func floodUntilLimited(t *testing.T, c mstest.Client, rateMiB int) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c.Transport = transport
	burst := rateMiB + 10
	if rateMiB == 10 {
		burst = 20
	}
	send := func(n int) mstest.Response {
		res, err := c.Do(context.Background(), http.MethodPost, "/loki/api/v1/push", body(n), "Content-Type", "application/json")
		if err != nil {
			t.Error(err)
		}
		return res
	}
	if tooLarge := send(burst*mib + 1); tooLarge.Status != http.StatusRequestEntityTooLarge ||
		!strings.Contains(string(tooLarge.Body), "ingestion_burst_size_mb") {
		t.Errorf("a request above the burst: status %d: %s", tooLarge.Status, tooLarge.Body)
	}
	began := time.Now()
	if whole := send(burst * mib); whole.Status != http.StatusNoContent {
		t.Errorf("a request of the whole burst: status %d: %s", whole.Status, whole.Body)
	}
	admitted, refused := burst, 0
	for time.Since(began) < 6*time.Second {
		switch res := send(mib); res.Status {
		case http.StatusNoContent:
			admitted++
		case http.StatusTooManyRequests:
			refused++
			if res.Header.Get("Retry-After") == "" || !strings.Contains(string(res.Body), "ingestion_rate_mb") {
				t.Errorf("refused without wait or name: %v %s", res.Header, res.Body)
			}
			time.Sleep(10 * time.Millisecond)
		default:
			t.Errorf("status %d: %s", res.Status, res.Body)
		}
	}
	took := time.Since(began).Seconds()
	most := float64(burst) + float64(rateMiB)*took
	if float64(admitted) > most+1 {
		t.Errorf("%d MiB admitted in %.1f s, above %.1f", admitted, took, most)
	}
	t.Logf("%s: %d MiB admitted in %.2f s, %d refused; burst %d and %d MiB/s allow %.1f: %.1f MiB/s after the burst",
		c.Org, admitted, took, refused, burst, rateMiB, most, float64(admitted-burst)/took)
}

// TestEditsUnderLoad changes the file a thousand times while requests come. Every answer shows the values of one edit, and every request is
// judged by some edit's: all of them admit it. In the end the last edit is in force.
func TestEditsUnderLoad(t *testing.T) {
	t.Parallel()
	const edits = 1000
	edit := func(n int) string {
		return fmt.Sprintf("overrides:\n  a:\n    ingestion_rate_mb: %d\n    ingestion_burst_size_mb: %d\n    max_line_size: %d\n",
			100+n, 100+n, 99_329+n)
	}
	s, file := start(t, edit(0), nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked, written atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			c := s.Client("a")
			c.Transport = transport
			for ctx.Err() == nil {
				res, err := c.Do(ctx, http.MethodGet, "/config/tenant/v1/limits", nil)
				if err != nil {
					continue // the end of the test
				}
				var got inForce
				if err := json.Unmarshal(res.Body, &got); err != nil {
					t.Errorf("status %d: %s", res.Status, res.Body)
					return
				}
				rate, _ := got.Limits["ingestion_rate_mb"].Value.(float64)
				line, _ := got.Limits["max_line_size"].Value.(float64)
				if rate < 100 || rate != got.Limits["ingestion_burst_size_mb"].Value || line-99_329 != rate-100 {
					t.Errorf("the file never held these values: %s", res.Body)
					return
				}
				asked.Add(1)
				row := []byte(`{"message":"` + strings.Repeat("x", 60_000) + `"}`)
				if res, err = c.Do(ctx, http.MethodPost, "/api/v1/intake/logs/s", row, "Content-Type", "application/json"); err != nil {
					continue
				}
				if res.Status != http.StatusOK {
					t.Errorf("status %d: %s", res.Status, res.Body)
					return
				}
				written.Add(1)
			}
		})
	}
	for n := 1; n <= edits; n++ {
		text := edit(n)
		if n%2 == 0 {
			require.NoError(t, os.WriteFile(file+".new", []byte(text), 0o600))
			require.NoError(t, os.Rename(file+".new", file))
		} else { // in place and in pieces
			f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
			require.NoError(t, err)
			for _, piece := range []string{text[:40], text[40:]} {
				_, err := f.WriteString(piece)
				require.NoError(t, err)
				time.Sleep(time.Millisecond)
			}
			require.NoError(t, f.Close())
		}
		if n%100 == 0 {
			written := time.Now()
			waitRate(t, s, float64(100+n))
			t.Logf("edit %d was in force %v after it was written", n, time.Since(written).Round(time.Millisecond))
		}
	}
	cancel()
	wg.Wait()
	require.Positive(t, asked.Load())
	require.Positive(t, written.Load())
	t.Logf("%d answers and %d writes between %d edits", asked.Load(), written.Load(), edits)
}

// waitRate waits until org a has a rate of so many MiB.
func waitRate(t *testing.T, s *mstest.Server, want float64) {
	t.Helper()
	require.NoError(t, mstest.WaitFor(t.Context(), func(context.Context) error {
		if got := limitsOf(t, s.Client("a")).Limits["ingestion_rate_mb"].Value; got != want {
			return fmt.Errorf("rate %v, want %v", got, want)
		}
		return nil
	}))
}

// TestBadEntryConcernsOneOrg breaks one org's entry while the server runs: it keeps its last good values, others follow, and the fault is
// told.
func TestBadEntryConcernsOneOrg(t *testing.T) {
	t.Parallel()
	s, file := start(t, "overrides:\n  a: {ingestion_rate_mb: 1}\n  b: {ingestion_rate_mb: 1}\n", nil)
	require.NoError(t, os.WriteFile(file, []byte("overrides:\n  a: {ingestion_rate_mb: 2}\n  b: {ingestion_rat_mb: 2}\n"), 0o600))
	waitRate(t, s, 2)
	require.EqualValues(t, 1, limitsOf(t, s.Client("b")).Limits["ingestion_rate_mb"].Value)
	told := string(s.Client("").Get(t, "/runtime_config").Body)
	require.Contains(t, told, `{"line":3,"org":"b","message":"ingestion_rat_mb is no limit; did you mean ingestion_rate_mb?"}`)
	metrics := string(s.Client("").Get(t, "/metrics").Body)
	require.Contains(t, metrics, "millstream_overrides_last_reload_successful 0\n")
	require.Contains(t, metrics, "millstream_overrides_bad_orgs 1\n")
	require.Contains(t, s.Logs(), "overrides file has a fault")
}
