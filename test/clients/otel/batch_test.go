package otel_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// batch is numbered telemetry: row i of batch n has the number n*rows+i, in all signals, and all else follows from the number.
type batch struct {
	number, rows int
	at           time.Time // of row 0
}

// ids returns the trace and span id of a row.
func ids(row int) (trace pcommon.TraceID, span pcommon.SpanID) {
	binary.BigEndian.PutUint64(trace[8:], uint64(row)+1) //nolint:gosec // small
	binary.BigEndian.PutUint64(span[:], uint64(row)+1)   //nolint:gosec // small
	return trace, span
}

// rowTime is odd in nanoseconds, so that rounding shows.
func rowTime(at time.Time, row int) pcommon.Timestamp {
	return pcommon.NewTimestampFromTime(at.Add(time.Duration(row)*time.Millisecond + 123457*time.Nanosecond))
}

func (b batch) each(f func(row int)) {
	for i := range b.rows {
		f(b.number*b.rows + i)
	}
}

func fillResource(r pcommon.Resource) {
	r.Attributes().PutStr("service.name", "shop")
	r.Attributes().PutInt("process.pid", 4711)
}

func attributes(m pcommon.Map, row int) {
	m.PutInt("row", int64(row))
	m.PutBool("even", row%2 == 0)
	m.PutDouble("half", float64(row)/2)
	m.PutEmptySlice("list").AppendEmpty().SetInt(int64(row))
	m.PutEmptyMap("http").PutStr("method", "GET")
	m.PutEmptyBytes("raw").FromRaw([]byte{0, 255})
}

func (b batch) logs() plog.Logs {
	logs := plog.NewLogs()
	rl := logs.ResourceLogs().AppendEmpty()
	fillResource(rl.Resource())
	scope := rl.ScopeLogs().AppendEmpty()
	scope.Scope().SetName("shop/cart")
	scope.Scope().SetVersion("1.2.3")
	b.each(func(row int) {
		r := scope.LogRecords().AppendEmpty()
		r.SetTimestamp(rowTime(b.at, row))
		r.SetObservedTimestamp(rowTime(b.at, row+1))
		r.SetSeverityText("WARN")
		r.SetSeverityNumber(plog.SeverityNumberWarn)
		r.Body().SetStr(fmt.Sprintf("order %d", row))
		trace, span := ids(row)
		r.SetTraceID(trace)
		r.SetSpanID(span)
		attributes(r.Attributes(), row)
	})
	return logs
}

func (b batch) traces() ptrace.Traces {
	traces := ptrace.NewTraces()
	rs := traces.ResourceSpans().AppendEmpty()
	fillResource(rs.Resource())
	scope := rs.ScopeSpans().AppendEmpty()
	b.each(func(row int) {
		s := scope.Spans().AppendEmpty()
		trace, span := ids(row)
		s.SetTraceID(trace)
		s.SetSpanID(span)
		_, parent := ids(row + 1)
		s.SetParentSpanID(parent)
		s.SetName("checkout")
		s.SetKind(ptrace.SpanKindServer)
		s.SetStartTimestamp(rowTime(b.at, row))
		s.SetEndTimestamp(rowTime(b.at, row) + 1_500_001)
		s.Status().SetCode(ptrace.StatusCodeError)
		s.Status().SetMessage("card refused")
		e := s.Events().AppendEmpty()
		e.SetName("retry")
		e.SetTimestamp(rowTime(b.at, row) + 1)
		e.Attributes().PutInt("attempt", 2)
		l := s.Links().AppendEmpty()
		l.SetTraceID(trace)
		l.SetSpanID(parent)
		attributes(s.Attributes(), row)
	})
	return traces
}

func (b batch) metrics() pmetric.Metrics {
	metrics := pmetric.NewMetrics()
	rm := metrics.ResourceMetrics().AppendEmpty()
	fillResource(rm.Resource())
	list := rm.ScopeMetrics().AppendEmpty().Metrics()
	orders, seconds := list.AppendEmpty(), list.AppendEmpty()
	orders.SetName("shop_orders")
	orders.SetUnit("{order}")
	sum := orders.SetEmptySum()
	sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	sum.SetIsMonotonic(true)
	seconds.SetName("shop_seconds")
	h := seconds.SetEmptyHistogram()
	h.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	b.each(func(row int) {
		p := sum.DataPoints().AppendEmpty()
		p.SetStartTimestamp(pcommon.NewTimestampFromTime(b.at))
		p.SetTimestamp(rowTime(b.at, row))
		p.SetIntValue(int64(row))
		p.Attributes().PutStr("row", fmt.Sprint(row))
		hp := h.DataPoints().AppendEmpty()
		hp.SetTimestamp(rowTime(b.at, row))
		hp.SetCount(6)
		hp.SetSum(float64(row))
		hp.ExplicitBounds().FromRaw([]float64{0.5, 1})
		hp.BucketCounts().FromRaw([]uint64{1, 2, 3})
		hp.Attributes().PutStr("row", fmt.Sprint(row))
	})
	return metrics
}

// requireBatches checks that each row of the batches is stored once, in all signals, and a sample of them field by field.
func requireBatches(t *testing.T, q mstest.Client, batches, rows int, at time.Time) {
	t.Helper()
	total := batches * rows
	for _, question := range []string{
		`SELECT count(*), count(DISTINCT "row"), min("row"), max("row") FROM otel_logs`,
		`SELECT count(*), count(DISTINCT "row"), min("row"), max("row") FROM otel_traces`,
		`SELECT count(*), count(DISTINCT value), min(value), max(value) FROM metrics.shop_orders`,
		`SELECT count(*), count(DISTINCT "row"), min("row"::INT), max("row"::INT) FROM metrics.shop_seconds`,
	} {
		got := q.Query(t, question)[0]
		for i, want := range []int{total, total, 0, total - 1} {
			require.EqualValues(t, want, float(t, got[i]), "%s: %v", question, got)
		}
	}
	for _, row := range []int{0, rows, total - 1} {
		requireLog(t, q, row, at)
		requireSpan(t, q, row, at)
		requirePoints(t, q, row, at)
	}
}

func float(t *testing.T, cell any) float64 {
	t.Helper()
	v, err := cell.(json.Number).Float64()
	require.NoError(t, err)
	return v
}

const nanos = "epoch_us(_timestamp) * 1000 + _timestamp_nanos"

// number is an integer as answers hold it.
func number[T ~int | ~int64 | ~uint64](n T) json.Number {
	return json.Number(strconv.FormatUint(uint64(n), 10))
} //nolint:gosec // never negative

func requireLog(t *testing.T, q mstest.Client, row int, at time.Time) {
	t.Helper()
	trace, span := ids(row)
	got := q.Query(t, fmt.Sprintf(`SELECT message, level, severity_number, %s, epoch_us(observed_timestamp), trace_id, span_id, even, half,
		list, "http.method", raw, "resource.service.name", "resource.process.pid", "scope.name", "scope.version"
		FROM otel_logs WHERE "row" = %d`, nanos, row))
	require.Equal(t, [][]any{{
		fmt.Sprintf("order %d", row), "warn", number(13), number(rowTime(at, row)), number(rowTime(at, row+1) / 1000),
		trace.String(), span.String(), row%2 == 0, got[0][8], got[0][9], "GET", "AP8=", "shop", number(4711), "shop/cart", "1.2.3",
	}}, got)
	require.InDelta(t, float64(row)/2, float(t, got[0][8]), 0)
	require.JSONEq(t, fmt.Sprintf("[%d]", row), text(t, got[0][9]))
}

// text is a JSON cell as text, whether it came as text or as JSON.
func text(t *testing.T, cell any) string {
	t.Helper()
	if s, ok := cell.(string); ok {
		return s
	}
	data, err := json.Marshal(cell)
	require.NoError(t, err)
	return string(data)
}

func requireSpan(t *testing.T, q mstest.Client, row int, at time.Time) {
	t.Helper()
	trace, span := ids(row)
	_, parent := ids(row + 1)
	got := q.Query(t, fmt.Sprintf(`SELECT name, kind, %s, duration_ns, trace_id, span_id, parent_span_id, status_code, status_message, even,
		"http.method", "resource.service.name", events, links FROM otel_traces WHERE "row" = %d`, nanos, row))
	require.Equal(t, [][]any{{
		"checkout", "server", number(rowTime(at, row)), number(1_500_001), trace.String(), span.String(), parent.String(), "error",
		"card refused", row%2 == 0, "GET", "shop", got[0][12], got[0][13],
	}}, got)
	event := fmt.Sprintf(`[{"timeUnixNano":"%d","name":"retry","attributes":{"attempt":2}}]`, rowTime(at, row)+1)
	require.JSONEq(t, event, text(t, got[0][12]))
	require.JSONEq(t, fmt.Sprintf(`[{"traceId":%q,"spanId":%q}]`, trace, parent), text(t, got[0][13]))
}

func requirePoints(t *testing.T, q mstest.Client, row int, at time.Time) {
	t.Helper()
	got := q.Query(t, fmt.Sprintf(`SELECT %s, value, _kind, _temporality, _monotonic, _unit, epoch_us(_start), "resource.service.name"
		FROM metrics.shop_orders WHERE "row" = '%d'`, nanos, row))
	require.Equal(t, [][]any{{
		number(rowTime(at, row)), got[0][1], "sum", "cumulative", true, "{order}", number(at.UnixMicro()), "shop",
	}}, got)
	require.InDelta(t, row, float(t, got[0][1]), 0)
	got = q.Query(t, fmt.Sprintf(`SELECT %s, _kind, _temporality, value, _histogram FROM metrics.shop_seconds WHERE "row" = '%d'`, nanos, row))
	require.Equal(t, [][]any{{number(rowTime(at, row)), "histogram", "delta", nil, got[0][4]}}, got)
	require.JSONEq(t, fmt.Sprintf(`{"count":6,"sum":%d,"explicitBounds":[0.5,1],"bucketCounts":[1,2,3]}`, row), text(t, got[0][4]))
}
