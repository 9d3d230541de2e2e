package otel_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millstream/millstream/internal/testkit/mstest"
	"github.com/stretchr/testify/require"
)

// stock is a Collector's configuration that leaves queue and retries as they come, 5 s to 30 s between tries and half as much more by
// chance, but for the time after which it gives up.
const stock = `
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "%[1]s"}
exporters:
  %[2]s:
    endpoint: "%[3]s"
    tls: {insecure: true}
    headers: {X-Scope-OrgID: %[4]s}
    retry_on_failure: {max_elapsed_time: %[5]s}
service:
  telemetry:
    metrics: {level: none}
    logs: {level: error}
  pipelines:
    logs: {receivers: [otlp], exporters: [%[2]s]}
    metrics: {receivers: [otlp], exporters: [%[2]s]}
    traces: {receivers: [otlp], exporters: [%[2]s]}
`

// TestRefusedStockCollectorLosesNothing puts a database into a debt that takes long to be paid, so that everything is refused for
// refusedFor, and sends all signals through Collectors on their own settings meanwhile. Each record is there once in the end, and since the
// Collectors wait as they are told, they ask seldom.
func TestRefusedStockCollectorLosesNothing(t *testing.T) {
	const batches, rows, limit = 5, 20, 1000
	server := mstest.Start(t, mstest.Config{Env: map[string]string{"MS_INTAKE_FLUSH_INTERVAL_SECS": "3600"}})
	transports := []struct{ name, exporter, endpoint string }{
		{"grpc", "otlp", server.OTLPGRPC}, {"http", "otlphttp", server.HTTP},
	}
	collectors := make([]*collector, len(transports))
	for i, x := range transports {
		address := freeAddress(t)
		collectors[i] = startCollector(t, fmt.Sprintf(stock, address, x.exporter, x.endpoint, x.name, giveUpAfter), address)
		q := server.Client(x.name)
		q.Query(t, "ALTER DATABASE public SET 'ingest_rows_rate_limit' = '"+strconv.Itoa(limit)+"'")
		debt := "[" + strings.Repeat(`{"a":1},`, limit*int(refusedFor/time.Second)-1) + `{"a":1}]`
		require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) error {
			if res, err := q.Do(ctx, http.MethodPost, "/api/v1/intake/logs/one", []byte(`{"a":1}`)); err != nil || res.Status != http.StatusOK {
				return fmt.Errorf("%d %w", res.Status, err)
			}
			return limitSeen(ctx, server, x.name)
		}))
		res := q.Post(t, "/api/v1/intake/logs/debt", debt)
		require.Equal(t, http.StatusOK, res.Status, "%s", res.Body)
		require.Equal(t, http.StatusTooManyRequests, q.Post(t, "/api/v1/intake/logs/one", `{"a":1}`).Status)
	}
	began := time.Now()
	started := began.Add(-time.Minute).Truncate(time.Second)
	for n := range batches {
		for _, c := range collectors {
			require.NoError(t, c.send(t.Context(), batch{number: n, rows: rows, at: started}))
		}
	}
	for i, x := range transports {
		q := server.Client(x.name)
		for _, table := range []string{"otel_logs", "otel_traces", "metrics.shop_orders", "metrics.shop_seconds"} {
			ctx, cancel := context.WithTimeout(t.Context(), refusedFor+3*time.Minute)
			awaitRowsUntil(ctx, t, q, table, batches*rows)
			cancel()
		}
		t.Logf("%s: all there after %v", x.name, time.Since(began).Round(time.Second))
		collectors[i].stop()
		requireBatches(t, q, batches, rows, started)
	}
	require.Greater(t, time.Since(began), refusedFor-2*time.Second, "it was refused as long as it was meant to be")
	requireRefused(t, server, "rows", "grpc", "http")
	refused := refusedExports(t, server)
	t.Logf("%d requests of the Collector over HTTP were refused", refused)
	most := 3 * batches * (int(refusedFor/(30*time.Second)) + 4) // a try at once, one every 30 s, and some for those that come back together
	require.LessOrEqual(t, refused, most, "a Collector that waits as it is told")
}

// limitSeen reports whether the process knows a row limit of the org's database.
func limitSeen(ctx context.Context, server *mstest.Server, org string) error {
	res, err := server.Client("").Do(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return err
	}
	if !strings.Contains(string(res.Body), `millstream_quota_limit{database="public",kind="rows",org="`+org+`"}`) {
		return errors.New("the limit is not in force")
	}
	return nil
}

// refusedExports returns how many requests of OTLP/HTTP were answered with 429.
func refusedExports(t *testing.T, server *mstest.Server) (n int) {
	t.Helper()
	res, err := server.Client("").Do(t.Context(), http.MethodGet, "/metrics", nil)
	require.NoError(t, err)
	for line := range strings.Lines(string(res.Body)) {
		if strings.HasPrefix(line, `millstream_http_requests_total{method="POST",route="/v1/`) && strings.Contains(line, `status="429"`) {
			value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
			require.NoError(t, err)
			n += int(value)
		}
	}
	require.Positive(t, n)
	return n
}
