//go:build peers

package prometheus_test

import (
	"bufio"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// Blocks that promtool has made of an OpenMetrics file, imported with an interruption by kill -9, are answered as Prometheus answers over
// the same blocks, although the series have samples of today; so is the file itself. No sample is there twice.
func TestImport(t *testing.T) {
	t.Parallel()
	s := newShop()
	s.begin, s.end = s.begin.Add(-24*time.Hour), s.end.Add(-24*time.Hour)
	dir := t.TempDir()
	file := filepath.Join(dir, "history.om")
	samples := s.openMetrics(t, file)
	blocks := filepath.Join(dir, "blocks")
	out, code := promtool(t, "", []string{"tsdb", "create-blocks-from", "openmetrics", file, blocks})
	require.Zero(t, code, out)

	product := startProduct(t)
	today := newShop()
	today.begin = today.end.Add(-10 * time.Minute)
	today.requests(func(r *prompb.WriteRequest) {
		for _, org := range []string{"blocks", "file"} {
			writeAs(t, product.HTTP, org, r)
		}
	})
	millstream := func(org string, args ...string) *exec.Cmd {
		program, err := mstest.Program()
		require.NoError(t, err)
		return exec.CommandContext(t.Context(), program, append([]string{"import", "--addr", product.HTTP, "--org", org}, args...)...)
	}
	slow := millstream("blocks", blocks, "--batch-rows", "500")
	require.NoError(t, slow.Start())
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(blocks + ".millstream")
		return err == nil && strings.Contains(string(text), `"accepted":`) && !strings.Contains(string(text), `"accepted":500,`)
	}, time.Minute, time.Millisecond)
	require.NoError(t, slow.Process.Kill())
	require.Error(t, slow.Wait(), "it was killed before its end")
	for org, what := range map[string]string{"blocks": blocks, "file": file} {
		text, err := millstream(org, what).CombinedOutput()
		require.NoError(t, err, "%s", text)
		if org == "blocks" {
			require.Contains(t, string(text), "samples before")
		}
	}

	peer := newReference(t, "global: {}\n", "--storage.tsdb.retention.time=30d")
	require.NoError(t, os.Rename(blocks, filepath.Join(peer.dir, "data")))
	peer.start(t.Context(), t)
	at := strconv.FormatInt(s.end.Unix(), 10)
	check := func(t *testing.T) {
		for _, org := range []string{"blocks", "file"} {
			for _, q := range []string{
				`{__name__=~"shop_.+"}[2h]`, `last_over_time({__name__=~"shop_.+"}[2h])`, `sum by (mode) (rate(shop_cpu_usage_seconds_total[5m]))`,
			} {
				form := url.Values{"query": {q}, "time": {at}}
				want := ask(t, peer.base, "query", form)
				require.Equal(t, http.StatusOK, want.code)
				got := askAs(t, product.HTTP+"/prometheus", org, "query", form)
				sortMatrix(got.Data)
				sortMatrix(want.Data)
				require.Empty(t, difference(got, want, false), "%s: %s", org, q)
			}
			rows := product.Client(org).Query(t, fmt.Sprintf(
				`SELECT count(*) FROM metrics.shop_num_cpus WHERE _timestamp <= TIMESTAMPTZ '%s'`, s.end.Add(time.Second).UTC().Format(time.RFC3339)))
			require.Equal(t, strconv.Itoa(samples["shop_num_cpus"]), fmt.Sprint(rows[0][0]), org)
		}
	}
	t.Run("fresh", check)
	require.NoError(t, product.Restart(t.Context()))
	t.Run("flushed", check)
}

// openMetrics writes the floats of the shop to a file and returns how many samples each metric has.
func (s *shop) openMetrics(t testing.TB, path string) map[string]int {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	w := bufio.NewWriter(f)
	count := make(map[string]int)
	for n := range shopInstances() {
		for at := s.begin; !at.After(s.end); at = at.Add(shopStep) {
			s.scrape(n, at, func(labels []string, p prompb.Sample) {
				if math.IsNaN(p.Value) {
					return // of staleness a file cannot tell
				}
				var pairs []string
				for i := 2; i < len(labels); i += 2 {
					pairs = append(pairs, fmt.Sprintf("%s=%q", labels[i], labels[i+1]))
				}
				count[labels[1]]++
				_, err := fmt.Fprintf(w, "%s{%s} %s %d.%03d\n", labels[1], strings.Join(pairs, ","),
					strconv.FormatFloat(p.Value, 'g', -1, 64), p.Timestamp/1000, p.Timestamp%1000)
				require.NoError(t, err)
			}, func(prompb.Histogram) {})
		}
	}
	_, err = w.WriteString("# EOF\n")
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
	return count
}
