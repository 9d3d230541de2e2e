package chaos_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// wire is the way of a lane's rows into the server.
type wire struct {
	*lane
	client mstest.Client // of the lane's org
	grpc   *grpc.ClientConn
}

// lane is one stream of one org, written through one protocol.
type lane struct {
	org, stream string
	number      string // SQL of a row's number
	from        string // SQL name of the stream
	// send sends rows and returns nil when the server has acknowledged all of them.
	send func(ctx context.Context, w wire, s span) error
	ledger
}

func (l *lane) String() string { return l.org + "/" + l.from }

// newLanes returns a set of streams whose names end with suffix: all signals, both orgs, JSON and OTLP, one name in two orgs.
func newLanes(suffix string) []*lane {
	lanes := []*lane{
		{org: "acme", from: "logs.orders", send: sendLines},
		{org: "globex", from: "logs.orders", send: sendArray},
		{org: "acme", from: "logs.payments", send: sendOTLPLogs},
		{org: "globex", from: "traces.calls", send: sendOTLPSpans},
		{org: "globex", from: "metrics.load", number: "CAST(value AS BIGINT)", send: sendOTLPGauge},
	}
	for _, l := range lanes {
		l.from += suffix
		_, l.stream, _ = strings.Cut(l.from, ".")
		if l.number == "" {
			l.number = "n"
		}
	}
	return lanes
}

// when returns a row's event time: most rows are new, some lie in other hours and days, so that a flush writes several files.
func when(n int64) time.Time {
	now := time.Now().UTC()
	switch n % 16 {
	case 3:
		return now.Add(-90 * time.Minute)
	case 7:
		return now.Add(-30 * time.Hour)
	default:
		return now
	}
}

func row(n int64) string {
	return fmt.Sprintf(`{"_timestamp":%q,"n":%d,"user":"u%d","text":%q}`, when(n).Format(time.RFC3339Nano), n, n%97,
		strings.Repeat("as it was ", int(n%23)))
}

func sendLines(ctx context.Context, w wire, s span) error {
	var body strings.Builder
	for n := s.first; n <= s.last; n++ {
		body.WriteString(row(n) + "\n")
	}
	return sendJSON(ctx, w, s, body.String(), "application/x-ndjson")
}

func sendArray(ctx context.Context, w wire, s span) error {
	rows := make([]string, 0, s.rows())
	for n := s.first; n <= s.last; n++ {
		rows = append(rows, row(n))
	}
	return sendJSON(ctx, w, s, "["+strings.Join(rows, ",")+"]", "application/json")
}

func sendJSON(ctx context.Context, w wire, s span, body, contentType string) error {
	res, err := w.client.Do(ctx, http.MethodPost, "/api/v1/intake/logs/"+w.stream, []byte(body), "Content-Type", contentType)
	if err != nil {
		return err
	}
	if res.Status != http.StatusOK {
		return &mstest.StatusError{Response: res}
	}
	var answer struct{ Accepted, Rejected int64 }
	if err := json.Unmarshal(res.Body, &answer); err != nil {
		return fmt.Errorf("read the acknowledgement %q: %w", res.Body, err)
	}
	if answer.Accepted != s.rows() || answer.Rejected != 0 {
		return refusedError{fmt.Sprintf("%d rows sent: %s", s.rows(), res.Body)}
	}
	return nil
}

// refusedError is an answer that no good row may get.
type refusedError struct{ text string }

func (e refusedError) Error() string { return e.text }

func sendOTLPLogs(ctx context.Context, w wire, s span) error {
	logs := plog.NewLogs()
	records := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for n := s.first; n <= s.last; n++ {
		r := records.AppendEmpty()
		r.SetTimestamp(pcommon.NewTimestampFromTime(when(n)))
		r.Body().SetStr("paid")
		r.Attributes().PutInt("n", n)
	}
	body, err := plogotlp.NewExportRequestFromLogs(logs).MarshalProto()
	if err != nil {
		return fmt.Errorf("encode logs: %w", err)
	}
	res, err := w.client.Do(ctx, http.MethodPost, "/v1/logs", body,
		"Content-Type", "application/x-protobuf", "X-Millstream-Stream", w.stream)
	if err != nil {
		return err
	}
	if res.Status != http.StatusOK {
		return &mstest.StatusError{Response: res}
	}
	answer := plogotlp.NewExportResponse()
	if err := answer.UnmarshalProto(res.Body); err != nil {
		return fmt.Errorf("read the acknowledgement: %w", err)
	}
	return refused(answer.PartialSuccess().RejectedLogRecords(), answer.PartialSuccess().ErrorMessage())
}

func sendOTLPSpans(ctx context.Context, w wire, s span) error {
	traces := ptrace.NewTraces()
	spans := traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for n := s.first; n <= s.last; n++ {
		r := spans.AppendEmpty()
		r.SetName("call")
		r.SetTraceID(pcommon.TraceID{1, byte(n), byte(n >> 8), byte(n >> 16)})
		r.SetSpanID(pcommon.SpanID{2, byte(n), byte(n >> 8), byte(n >> 16)})
		r.SetStartTimestamp(pcommon.NewTimestampFromTime(when(n)))
		r.SetEndTimestamp(pcommon.NewTimestampFromTime(when(n).Add(time.Millisecond)))
		r.Attributes().PutInt("n", n)
	}
	answer, err := ptraceotlp.NewGRPCClient(w.grpc).Export(w.outgoing(ctx), ptraceotlp.NewExportRequestFromTraces(traces))
	if err != nil {
		return err
	}
	return refused(answer.PartialSuccess().RejectedSpans(), answer.PartialSuccess().ErrorMessage())
}

func sendOTLPGauge(ctx context.Context, w wire, s span) error {
	metrics := pmetric.NewMetrics()
	m := metrics.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName(w.stream)
	points := m.SetEmptyGauge().DataPoints()
	for n := s.first; n <= s.last; n++ {
		p := points.AppendEmpty()
		p.SetTimestamp(pcommon.NewTimestampFromTime(time.Now()))
		p.SetIntValue(n)
		p.Attributes().PutInt("n", n) // a series for each number: samples of one series and time are one sample
	}
	answer, err := pmetricotlp.NewGRPCClient(w.grpc).Export(w.outgoing(ctx), pmetricotlp.NewExportRequestFromMetrics(metrics))
	if err != nil {
		return err
	}
	return refused(answer.PartialSuccess().RejectedDataPoints(), answer.PartialSuccess().ErrorMessage())
}

// outgoing adds the org and the stream to a call.
func (l *lane) outgoing(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "x-scope-orgid", l.org, "x-millstream-stream", l.stream)
}

func refused(rows int64, text string) error {
	if rows != 0 {
		return refusedError{fmt.Sprintf("%d rows refused: %s", rows, text)}
	}
	return nil
}
