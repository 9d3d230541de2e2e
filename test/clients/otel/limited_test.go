package otel_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// limits are the ways in which a server refuses what comes too fast.
func limits() map[string]struct {
	env       map[string]string
	statement string
} {
	return map[string]struct {
		env       map[string]string
		statement string
	}{
		"rows":  {nil, "ALTER DATABASE public SET 'ingest_rows_rate_limit' = '500'"},
		"bytes": {map[string]string{"MS_LIMITS_INGESTION_RATE_MB": "0.1", "MS_LIMITS_INGESTION_BURST_SIZE_MB": "0.2"}, ""},
	}
}

// startLimited starts a server with a limit in force for the orgs.
func startLimited(t *testing.T, env map[string]string, statement string, orgs ...string) *mstest.Server {
	t.Helper()
	all := map[string]string{"MS_INTAKE_FLUSH_INTERVAL_SECS": "1"}
	maps.Copy(all, env)
	server := mstest.Start(t, mstest.Config{Env: all})
	for _, org := range orgs {
		if statement != "" {
			server.Client(org).Query(t, statement)
		}
	}
	return server
}

// requireRefused checks that the limit has refused each org.
func requireRefused(t *testing.T, server *mstest.Server, kind string, orgs ...string) {
	t.Helper()
	res, err := server.Client("").Do(t.Context(), http.MethodGet, "/metrics", nil)
	require.NoError(t, err)
	for _, org := range orgs {
		refused := 0.0
		for line := range strings.Lines(string(res.Body)) {
			if strings.HasPrefix(line, "millstream_quota_refused_total{") && strings.Contains(line, `kind="`+kind+`"`) &&
				strings.Contains(line, `org="`+org+`"`) {
				refused, err = strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
				require.NoError(t, err)
			}
		}
		require.Positive(t, refused, "%s of %s were never refused", kind, org)
		t.Logf("%s: %.0f %s refused", org, refused, kind)
	}
}

// TestRefusedCollectorLosesNothing sends all signals through Collectors to a server that refuses them again and again, over both
// transports: each record is there once.
func TestRefusedCollectorLosesNothing(t *testing.T) {
	const batches, rows = 10, 100
	for kind, limit := range limits() {
		t.Run(kind, func(t *testing.T) {
			server := startLimited(t, limit.env, limit.statement, "grpc", "http")
			transports := []struct{ name, exporter, endpoint string }{
				{"grpc", "otlp", server.OTLPGRPC}, {"http", "otlphttp", server.OTLPHTTP},
			}
			collectors := make([]*collector, len(transports))
			for i, x := range transports {
				address := freeAddress(t)
				collectors[i] = startCollector(t, fmt.Sprintf(pipelines, address, x.exporter, x.endpoint, "gzip", x.name), address)
			}
			started := time.Now().Add(-time.Minute).Truncate(time.Second)
			for n := range batches {
				for _, c := range collectors {
					require.NoError(t, c.send(t.Context(), batch{number: n, rows: rows, at: started}))
				}
			}
			for i, x := range transports {
				q := server.Client(x.name)
				for _, table := range []string{"otel_logs", "otel_traces", "metrics.shop_orders", "metrics.shop_seconds"} {
					awaitRows(t, q, table, batches*rows)
				}
				collectors[i].stop()
				requireBatches(t, q, batches, rows, started)
			}
			requireRefused(t, server, kind, "grpc", "http")
		})
	}
}

// awaitRows waits until a table has rows.
func awaitRows(t *testing.T, q mstest.Client, table string, rows int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	awaitRowsUntil(ctx, t, q, table, rows)
}

// awaitRowsUntil is awaitRows as long as a context lasts.
func awaitRowsUntil(ctx context.Context, t *testing.T, q mstest.Client, table string, rows int) {
	t.Helper()
	require.NoError(t, mstest.WaitFor(ctx, func(ctx context.Context) error {
		a, err := q.Ask(ctx, "SELECT count(*) FROM "+table)
		if err != nil {
			return err
		}
		if n := fmt.Sprint(a.Rows[0][0]); n != fmt.Sprint(rows) {
			return fmt.Errorf("%s has %s rows of %d", table, n, rows)
		}
		return nil
	}))
}

// TestRefusedSDKLosesNothing logs more than the server takes, with the SDK's exporters over both transports.
func TestRefusedSDKLosesNothing(t *testing.T) {
	const flushes, records = 8, 400
	for kind, limit := range limits() {
		for name, open := range map[string]func(*testing.T, *mstest.Server, string) exporters{"grpc": overGRPC, "http": overHTTP} {
			t.Run(kind+" "+name, func(t *testing.T) {
				server := startLimited(t, limit.env, limit.statement, name)
				var failed error
				loggers := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(watch{open(t, server, name).logs, &failed})))
				for f := range flushes {
					for i := range records {
						var record log.Record
						record.SetTimestamp(time.Now())
						record.SetBody(attribute.StringValue(fmt.Sprintf("%0100d", f*records+i)))
						loggers.Logger("cart").Emit(t.Context(), record)
					}
					require.NoError(t, loggers.ForceFlush(t.Context()))
				}
				require.NoError(t, errors.Join(loggers.Shutdown(t.Context()), failed))
				got := server.Client(name).Query(t, "SELECT count(*), count(DISTINCT message) FROM otel_logs")
				require.Equal(t, [][]any{{number(flushes * records), number(flushes * records)}}, got)
				requireRefused(t, server, kind, name)
			})
		}
	}
}
