package otlp_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/otlp"
)

// unmarshaler is an export request of pdata that counts its records.
type unmarshaler interface {
	UnmarshalProto([]byte) error
	count() int
}

type pdataLogs struct{ plogotlp.ExportRequest }

func (p pdataLogs) count() int { return p.Logs().LogRecordCount() }

type pdataTraces struct{ ptraceotlp.ExportRequest }

func (p pdataTraces) count() int { return p.Traces().SpanCount() }

type pdataMetrics struct{ pmetricotlp.ExportRequest }

func (p pdataMetrics) count() int { return p.Metrics().DataPointCount() }

func FuzzLogsProtobuf(f *testing.F) {
	seedProto(f, fullLogs())
	fuzz(f, otlp.DecodeLogs, otlp.Protobuf, func() unmarshaler { return pdataLogs{plogotlp.NewExportRequest()} })
}

func FuzzLogsJSON(f *testing.F) {
	seedJSON(f, fullLogs())
	fuzz(f, otlp.DecodeLogs, otlp.JSON, nil)
}

func FuzzTracesProtobuf(f *testing.F) {
	seedProto(f, fullTraces())
	fuzz(f, otlp.DecodeTraces, otlp.Protobuf, func() unmarshaler { return pdataTraces{ptraceotlp.NewExportRequest()} })
}

func FuzzTracesJSON(f *testing.F) {
	seedJSON(f, fullTraces())
	fuzz(f, otlp.DecodeTraces, otlp.JSON, nil)
}

func FuzzMetricsProtobuf(f *testing.F) {
	seedProto(f, fullMetrics())
	fuzz(f, otlp.DecodeMetrics, otlp.Protobuf, func() unmarshaler { return pdataMetrics{pmetricotlp.NewExportRequest()} })
}

func FuzzMetricsJSON(f *testing.F) {
	seedJSON(f, fullMetrics())
	fuzz(f, otlp.DecodeMetrics, otlp.JSON, nil)
}

func seedProto(f *testing.F, req marshaler) {
	f.Helper()
	body, err := req.MarshalProto()
	require.NoError(f, err)
	f.Add(body)
	f.Add([]byte{})
}

func seedJSON(f *testing.F, req marshaler) {
	f.Helper()
	body, err := req.MarshalJSON()
	require.NoError(f, err)
	f.Add(body)
	f.Add([]byte(`{"resource_logs":[{"scope_logs":[{"log_records":[{"time_unix_nano":"1e3"}]}]}]}`))
}

// fuzz checks that a body is either invalid or read whole, and that what pdata reads of the same protobuf is as many records.
func fuzz(f *testing.F, decodeBody decodeFunc, enc otlp.Encoding, pdata func() unmarshaler) {
	f.Helper()
	f.Fuzz(func(t *testing.T, body []byte) {
		opts := options()
		opts.MaxColumns = 20
		rows := 0
		res, err := decodeBody(body, enc, opts, stream(signal.Logs), func(b *signal.Batch) error {
			defer b.Release()
			rows += b.Rows()
			return signal.CheckRecord(b.Record)
		})
		if err != nil {
			require.Equal(t, fault.Invalid, fault.KindOf(err), "%v", err)
			require.Equal(t, wire.Result{}, res)
			return
		}
		require.Equal(t, rows, res.Accepted)
		require.Equal(t, res.Accepted+res.Rejected, res.Settled)
		if pdata == nil {
			return
		}
		req := pdata()
		if err := req.UnmarshalProto(body); err != nil {
			return // a message that is not stored (entity_refs) is not looked into here, so it may be broken
		}
		// A metric that carries data of two kinds, which protobuf forbids to write, keeps the points of both here.
		require.GreaterOrEqual(t, res.Settled, req.count())
	})
}

// fullTraces is a request in which most fields of a span are set.
func fullTraces() ptraceotlp.ExportRequest {
	traces := ptrace.NewTraces()
	r := traces.ResourceSpans().AppendEmpty()
	r.Resource().Attributes().PutStr("service.name", "cart")
	s := r.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetTraceID([16]byte{1})
	s.SetSpanID([8]byte{2})
	s.SetParentSpanID([8]byte{3})
	s.SetName("GET /")
	s.SetStartTimestamp(1_741_600_000_000_000_001)
	s.SetEndTimestamp(1_741_600_000_000_001_999)
	s.Attributes().PutEmptyMap("http").PutInt("status", 200)
	s.Events().AppendEmpty().Attributes().PutStr("a", "b")
	s.Links().AppendEmpty().SetTraceID([16]byte{4})
	s.Status().SetCode(ptrace.StatusCodeError)
	return ptraceotlp.NewExportRequestFromTraces(traces)
}
