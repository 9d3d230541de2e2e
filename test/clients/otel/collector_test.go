package otel_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// pipelines is a Collector's configuration: applications send to its receiver, it sends to the server. The first interval of retries
// is short, so that a test does not wait; the queue holds all that is sent while the server is away.
const pipelines = `
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "%[1]s"}
exporters:
  %[2]s:
    endpoint: "%[3]s"
    compression: %[4]s
    tls: {insecure: true}
    headers: {X-Scope-OrgID: %[5]s}
    retry_on_failure: {initial_interval: 100ms, max_interval: 1s, max_elapsed_time: 0s}
    sending_queue: {queue_size: 100000, batch: {flush_timeout: 50ms, min_size: 50, max_size: 100}}
service:
  telemetry:
    metrics: {level: none}
    logs: {level: error}
  pipelines:
    logs: {receivers: [otlp], exporters: [%[2]s]}
    metrics: {receivers: [otlp], exporters: [%[2]s]}
    traces: {receivers: [otlp], exporters: [%[2]s]}
`

// collector is a running Collector.
type collector struct {
	address string // of its receiver, OTLP over gRPC
	conn    *grpc.ClientConn
	stop    func()
}

// startCollector runs a Collector with the configuration and returns when it takes data.
func startCollector(t *testing.T, config, address string) *collector {
	t.Helper()
	settings := otelcol.CollectorSettings{
		Factories: factories, BuildInfo: component.NewDefaultBuildInfo(), DisableGracefulShutdown: true, SkipSettingGRPCLogger: true,
		LoggingOptions: []zap.Option{zap.IncreaseLevel(zap.FatalLevel)},
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: []string{"yaml:" + config}, ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	}
	col, err := otelcol.NewCollector(settings)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- col.Run(context.WithoutCancel(t.Context())) }()
	c := &collector{address: address}
	stopped := false
	c.stop = func() {
		if !stopped {
			stopped = true
			col.Shutdown()
			require.NoError(t, <-ended)
		}
	}
	require.NoError(t, mstest.WaitFor(t.Context(), func(context.Context) error {
		select {
		case err := <-ended:
			ended <- err
			require.NoError(t, err)
			return errors.New("the collector ended")
		default:
		}
		if state := col.GetState(); state != otelcol.StateRunning {
			return fmt.Errorf("the collector is %v", state)
		}
		return nil
	}))
	c.conn, err = grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.conn.Close())
		c.stop()
	})
	return c
}

func factories() (otelcol.Factories, error) {
	f := otelcol.Factories{Telemetry: otelconftelemetry.NewFactory()}
	var err error
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return f, err
	}
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](otlpexporter.NewFactory(), otlphttpexporter.NewFactory())
	return f, err
}

// send gives a batch of each signal to the collector, as an application would.
func (c *collector) send(ctx context.Context, b batch) error {
	if _, err := plogotlp.NewGRPCClient(c.conn).Export(ctx, plogotlp.NewExportRequestFromLogs(b.logs())); err != nil {
		return err
	}
	if _, err := pmetricotlp.NewGRPCClient(c.conn).Export(ctx, pmetricotlp.NewExportRequestFromMetrics(b.metrics())); err != nil {
		return err
	}
	_, err := ptraceotlp.NewGRPCClient(c.conn).Export(ctx, ptraceotlp.NewExportRequestFromTraces(b.traces()))
	return err
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // only its number is wanted
	return l.Addr().String()
}

// TestCollector sends all signals through a Collector, over every transport and compression, stops and starts the server in the
// middle, and finds each record once and whole.
func TestCollector(t *testing.T) {
	server := mstest.Start(t, mstest.Config{Env: map[string]string{"MS_INTAKE_FLUSH_INTERVAL_SECS": "1"}})
	const before, after, rows = 5, 10, 100
	transports := []struct{ name, exporter, endpoint, compression string }{
		{"grpc-gzip", "otlp", server.OTLPGRPC, "gzip"},
		{"grpc-zstd", "otlp", server.OTLPGRPC, "zstd"},
		{"grpc-snappy", "otlp", server.OTLPGRPC, "snappy"},
		{"http-gzip", "otlphttp", server.OTLPHTTP, "gzip"},
		{"http-zstd", "otlphttp", server.HTTP, "zstd"},
		{"http-deflate", "otlphttp", server.OTLPHTTP, "deflate"},
		{"http-none", "otlphttp", server.OTLPHTTP, "none"},
	}
	collectors := make([]*collector, len(transports))
	for i, x := range transports {
		address := freeAddress(t)
		collectors[i] = startCollector(t, fmt.Sprintf(pipelines, address, x.exporter, x.endpoint, x.compression, x.name), address)
	}
	started := time.Now().Add(-time.Minute).Truncate(time.Second)
	sendAll := func(from, to int) {
		for n := from; n < to; n++ {
			for _, c := range collectors {
				require.NoError(t, c.send(t.Context(), batch{number: n, rows: rows, at: started}))
			}
		}
	}
	sendAll(0, before)
	server.Stop()
	sendAll(before, after)
	require.NoError(t, server.Start(t.Context()))
	for i, x := range transports {
		t.Run(x.name, func(t *testing.T) {
			q := server.Client(x.name)
			for _, table := range []string{"otel_logs", "otel_traces", "metrics.shop_orders"} {
				require.NoError(t, mstest.WaitFor(t.Context(), func(ctx context.Context) error {
					a, err := q.Ask(ctx, "SELECT count(*) FROM "+table)
					if err != nil {
						return err
					}
					if n := fmt.Sprint(a.Rows[0][0]); n != fmt.Sprint(after*rows) {
						return fmt.Errorf("%s has %s rows", table, n)
					}
					return nil
				}))
			}
			collectors[i].stop()
			requireBatches(t, q, after, rows, started)
		})
	}
	require.NotContains(t, strings.ToLower(server.Logs()), "panic")
}
