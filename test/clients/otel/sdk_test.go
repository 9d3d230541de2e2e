package otel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// exporters are the SDK's three exporters of one transport.
type exporters struct {
	logs    sdklog.Exporter
	metrics sdkmetric.Exporter
	spans   sdktrace.SpanExporter
}

// retries of the exporters begin early, so that a test does not wait.
const firstRetry, lastRetry, giveUp = 100 * time.Millisecond, time.Second, time.Minute

func overGRPC(t *testing.T, s *mstest.Server, org string) exporters {
	t.Helper()
	headers := map[string]string{"x-scope-orgid": org}
	logs, err := otlploggrpc.New(t.Context(), otlploggrpc.WithEndpoint(s.OTLPGRPC), otlploggrpc.WithInsecure(),
		otlploggrpc.WithHeaders(headers), otlploggrpc.WithCompressor("gzip"), otlploggrpc.WithTimeout(giveUp),
		otlploggrpc.WithRetry(otlploggrpc.RetryConfig{
			Enabled: true, InitialInterval: firstRetry, MaxInterval: lastRetry, MaxElapsedTime: giveUp,
		}))
	require.NoError(t, err)
	metrics, err := otlpmetricgrpc.New(t.Context(), otlpmetricgrpc.WithEndpoint(s.OTLPGRPC), otlpmetricgrpc.WithInsecure(),
		otlpmetricgrpc.WithHeaders(headers), otlpmetricgrpc.WithCompressor("gzip"))
	require.NoError(t, err)
	spans, err := otlptracegrpc.New(t.Context(), otlptracegrpc.WithEndpoint(s.OTLPGRPC), otlptracegrpc.WithInsecure(),
		otlptracegrpc.WithHeaders(headers), otlptracegrpc.WithCompressor("gzip"))
	require.NoError(t, err)
	return exporters{logs, metrics, spans}
}

func overHTTP(t *testing.T, s *mstest.Server, org string) exporters {
	t.Helper()
	headers := map[string]string{"X-Scope-OrgID": org}
	logs, err := otlploghttp.New(t.Context(), otlploghttp.WithEndpointURL(s.OTLPHTTP+"/v1/logs"), otlploghttp.WithHeaders(headers),
		otlploghttp.WithCompression(otlploghttp.GzipCompression), otlploghttp.WithTimeout(giveUp), otlploghttp.WithRetry(otlploghttp.RetryConfig{
			Enabled: true, InitialInterval: firstRetry, MaxInterval: lastRetry, MaxElapsedTime: giveUp,
		}))
	require.NoError(t, err)
	metrics, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(s.OTLPHTTP+"/v1/metrics"),
		otlpmetrichttp.WithHeaders(headers), otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))
	require.NoError(t, err)
	spans, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(s.OTLPHTTP+"/v1/traces"), otlptracehttp.WithHeaders(headers),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	require.NoError(t, err)
	return exporters{logs, metrics, spans}
}

// TestSDK lets an application send what it does with the SDK's exporters, and finds all of it.
func TestSDK(t *testing.T) {
	server := mstest.Start(t, mstest.Config{Env: map[string]string{"MS_INTAKE_FLUSH_INTERVAL_SECS": "1", "MS_LIMITS_MAX_LINE_SIZE": "4KiB"}})
	for name, open := range map[string]func(*testing.T, *mstest.Server, string) exporters{"grpc": overGRPC, "http": overHTTP} {
		t.Run(name, func(t *testing.T) {
			e := open(t, server, name)
			application(t, e)
			q := server.Client(name)
			got := q.Query(t, `SELECT l.message, l.level, l.item, l.price, l."resource.service.name", l."scope.name", s.name, s.kind, s.status_code,
				s.status_message, s.duration_ns > 0, s."scope.name"
				FROM otel_logs l JOIN otel_traces s ON l.trace_id = s.trace_id AND l.span_id = s.span_id`)
			require.Equal(t, [][]any{{
				"added", "info", "book", got[0][3], "shop", "cart", "add to cart", "internal", "error", "out of stock", true, "cart",
			}}, got)
			require.InDelta(t, 12.5, float(t, got[0][3]), 0)
			got = q.Query(t, `SELECT value, _kind, _temporality, _monotonic, item, "resource.service.name" FROM metrics."shop.added"`)
			require.Equal(t, [][]any{{got[0][0], "sum", "cumulative", true, "book", "shop"}}, got)
			require.InDelta(t, 3, float(t, got[0][0]), 0)
			got = q.Query(t, `SELECT json_extract(_histogram, '$.count')::INT, json_extract(_histogram, '$.sum')::DOUBLE FROM metrics."shop.size"`)
			require.Equal(t, [][]any{{number(2), got[0][1]}}, got)
			require.InDelta(t, 42, float(t, got[0][1]), 0)
			got = q.Query(t, "SELECT count(*), count(DISTINCT trace_id), count(DISTINCT span_id) FROM otel_traces WHERE length(trace_id) = 32")
			require.Equal(t, [][]any{{number(2), number(1), number(2)}}, got)

			partial(t, e, q)
		})
	}
}

// application does a little work and shuts its providers down, which sends all of it.
func application(t *testing.T, e exporters) {
	t.Helper()
	ctx := t.Context()
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(e.spans), sdktrace.WithResource(res))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(e.metrics)), sdkmetric.WithResource(res))
	loggers := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewSimpleProcessor(e.logs)), sdklog.WithResource(res))

	outer, parent := tracers.Tracer("cart").Start(ctx, "buy", trace.WithSpanKind(trace.SpanKindServer))
	inner, span := tracers.Tracer("cart").Start(outer, "add to cart")
	var record log.Record
	record.SetTimestamp(time.Now())
	record.SetSeverity(log.SeverityInfo)
	record.SetBody(attribute.StringValue("added"))
	record.AddAttributes(attribute.String("item", "book"), attribute.Float64("price", 12.5))
	loggers.Logger("cart").Emit(inner, record)
	span.SetStatus(codes.Error, "out of stock")
	span.RecordError(errors.New("out of stock"))
	span.End()
	parent.End()
	added, err := meters.Meter("cart").Int64Counter("shop.added")
	require.NoError(t, err)
	added.Add(inner, 3, metric.WithAttributes(attribute.String("item", "book")))
	size, err := meters.Meter("cart").Float64Histogram("shop.size")
	require.NoError(t, err)
	size.Record(inner, 2)
	size.Record(inner, 40)

	require.NoError(t, loggers.ForceFlush(ctx))
	require.NoError(t, meters.Shutdown(ctx))
	require.NoError(t, tracers.Shutdown(ctx))
}

// partial sends a good and a bad record: the exporter reports what the server refused, and the good one is stored.
func partial(t *testing.T, e exporters, q mstest.Client) {
	t.Helper()
	var refused error
	loggers := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(watch{e.logs, &refused})))
	for _, size := range []int{10, 8000} {
		var record log.Record
		record.SetBody(attribute.StringValue(fmt.Sprintf("%0*d", size, 0)))
		loggers.Logger("partial").Emit(context.WithoutCancel(t.Context()), record)
	}
	require.NoError(t, loggers.Shutdown(t.Context()))
	require.ErrorContains(t, refused, "max_line_size")
	require.Equal(t, [][]any{{number(1)}}, q.Query(t, `SELECT count(*) FROM otel_logs WHERE "scope.name" = 'partial'`))
}

// watch notes the error of an export.
type watch struct {
	sdklog.Exporter
	err *error
}

// Export implements sdklog.Exporter.
func (w watch) Export(ctx context.Context, records []sdklog.Record) error {
	err := w.Exporter.Export(ctx, records)
	*w.err = errors.Join(*w.err, err)
	return nil
}
