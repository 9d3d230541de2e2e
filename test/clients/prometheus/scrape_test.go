//go:build peers

package prometheus_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// What a Prometheus that scrapes itself has stored after ten minutes, Millstream has too, every sample once, although both were restarted:
// Millstream by kill -9 and in order, Prometheus in order. Both versions of remote write, an org each.
func TestPrometheusScrapesItself(t *testing.T) {
	t.Parallel()
	duration := 10 * time.Minute
	if testing.Short() {
		duration = time.Minute
	}
	product := startProduct(t, "MS_INTAKE_FLUSH_INTERVAL_SECS", "20")
	peer := newReference(t, "")
	writing := scrapeConfig(peer.base, product.HTTP)
	require.NoError(t, os.WriteFile(filepath.Join(peer.dir, "prometheus.yml"), []byte(writing), 0o600))
	began := time.Now()
	peer.start(t.Context(), t)

	wait := func(share float64) { time.Sleep(time.Until(began.Add(time.Duration(share * float64(duration))))) }
	wait(0.2)
	product.Kill()
	time.Sleep(5 * time.Second) // the sender tries again and again
	require.NoError(t, product.Start(t.Context()))
	wait(0.4)
	peer.process.Stop()
	peer.start(t.Context(), t)
	wait(0.6)
	product.Kill()
	require.NoError(t, product.Start(t.Context()))
	wait(0.8)
	require.NoError(t, product.Restart(t.Context()))
	wait(1)
	peer.process.Stop() // hands over what it has queued

	require.NoError(t, os.WriteFile(filepath.Join(peer.dir, "prometheus.yml"), []byte("global: {}\n"), 0o600))
	peer.start(t.Context(), t)
	want := rawSamples(t, peer.base, "", began)
	total := 0
	for _, samples := range want {
		total += len(samples)
	}
	require.Greater(t, len(want), 300, "series of Prometheus about itself")
	require.Greater(t, total, 300*int(duration/time.Second)/3)
	t.Logf("%d series, %d samples", len(want), total)
	for _, org := range []string{"one", "two"} {
		compareSamples(t, org, rawSamples(t, product.HTTP+"/prometheus", org, began), want)
		compareRows(t, product.Client(org), want)
	}
}

// scrapeConfig makes a Prometheus scrape itself every second and send everything on, twice.
func scrapeConfig(self, product string) string {
	config := fmt.Sprintf(`
global: {scrape_interval: 1s}
scrape_configs:
- job_name: prometheus
  scrape_native_histograms: true
  always_scrape_classic_histograms: true
  static_configs: [{targets: [%q]}]
remote_write:
`, self[len("http://"):])
	for org, message := range map[string]string{"one": "prometheus.WriteRequest", "two": "io.prometheus.write.v2.Request"} {
		config += fmt.Sprintf(`
- url: %s/api/v1/write
  name: %s
  headers: {X-Scope-OrgID: %s}
  protobuf_message: %s
  send_exemplars: true
  send_native_histograms: true
  queue_config: {batch_send_deadline: 1s, max_backoff: 1s}
`, product, org, org, message)
	}
	return config
}

// rawSamples returns all samples since a time, as text "time value", by series.
func rawSamples(t testing.TB, base, org string, since time.Time) map[string][]string {
	t.Helper()
	out := make(map[string][]string)
	const window = 120
	for at := since.Unix() + window; at < time.Now().Unix()+window; at += window {
		form := url.Values{"query": {fmt.Sprintf(`{__name__=~".+"}[%ds]`, window)}, "time": {strconv.FormatInt(at, 10)}}
		e := askAs(t, base, org, "query", form)
		require.Equal(t, 200, e.code, e.Error)
		data, _ := e.Data.(map[string]any)
		result, _ := data["result"].([]any)
		for _, r := range result {
			series, _ := r.(map[string]any)
			key := fmt.Sprint(series["metric"])
			for _, kind := range []string{"values", "histograms"} {
				points, _ := series[kind].([]any)
				for _, p := range points {
					out[key] = append(out[key], fmt.Sprint(p))
				}
			}
		}
	}
	return out
}

func compareSamples(t testing.TB, org string, got, want map[string][]string) {
	t.Helper()
	require.Len(t, got, len(want), "series of org %s", org)
	for key, samples := range want {
		require.Equal(t, samples, got[key], "org %s, series %s", org, key)
	}
}

// compareRows counts rows by SQL: it would see a sample that is stored twice although PromQL shows it once.
func compareRows(t testing.TB, c mstest.Client, want map[string][]string) {
	t.Helper()
	for _, name := range []string{"up", "scrape_samples_scraped", "prometheus_tsdb_head_samples_appended_total", "process_cpu_seconds_total"} {
		n := 0
		for key, samples := range want {
			if metricOf(key) == name {
				n += len(samples)
			}
		}
		rows := c.Query(t, fmt.Sprintf(`SELECT count(*) FROM metrics."%s" WHERE value IS NOT NULL AND NOT isnan(value)`, name))
		require.Equal(t, strconv.Itoa(n), fmt.Sprint(rows[0][0]), "rows of %s", name)
	}
}

// metricOf reads the name out of a series' key, a printed map.
func metricOf(key string) string {
	var name string
	_, _ = fmt.Sscanf(key, "map[__name__:%s", &name)
	if n := len(name); n > 0 && name[n-1] == ']' {
		name = name[:n-1]
	}
	return name
}
