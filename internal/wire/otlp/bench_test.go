package otlp_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"

	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire/otlp"
)

// benchmarkLogs is a request of n records as a Collector's file receiver sends them: six resource attributes, five of its own.
func benchmarkLogs(n int) plogotlp.ExportRequest {
	logs := plog.NewLogs()
	r := logs.ResourceLogs().AppendEmpty()
	for _, name := range []string{"service.name", "service.namespace", "host.name", "k8s.pod.name", "k8s.namespace.name", "cloud.region"} {
		r.Resource().Attributes().PutStr(name, name+"-value")
	}
	s := r.ScopeLogs().AppendEmpty()
	s.Scope().SetName("filelog")
	for i := range n {
		l := s.LogRecords().AppendEmpty()
		l.SetTimestamp(1_741_600_000_000_000_001)
		l.SetObservedTimestamp(1_741_600_000_000_000_005)
		l.SetSeverityNumber(plog.SeverityNumberInfo)
		l.SetSeverityText("INFO")
		l.SetTraceID([16]byte{1, byte(i)})
		l.SetSpanID([8]byte{2, byte(i)})
		l.Body().SetStr(fmt.Sprintf("081109 203615 148 INFO dfs.DataNode$PacketResponder: "+
			"PacketResponder %d for block blk_38865049064139660 terminating", i))
		l.Attributes().PutStr("log.file.name", "hdfs.log")
		l.Attributes().PutStr("http.request.method", "GET")
		l.Attributes().PutInt("http.response.status_code", 200)
		l.Attributes().PutDouble("duration", 0.25)
		l.Attributes().PutBool("cached", true)
	}
	return plogotlp.NewExportRequestFromLogs(logs)
}

func BenchmarkLogsProtobuf(b *testing.B) {
	body, err := benchmarkLogs(1000).MarshalProto()
	require.NoError(b, err)
	benchmark(b, body, otlp.Protobuf)
}

func BenchmarkLogsJSON(b *testing.B) {
	body, err := benchmarkLogs(1000).MarshalJSON()
	require.NoError(b, err)
	benchmark(b, body, otlp.JSON)
}

func benchmark(b *testing.B, body []byte, enc otlp.Encoding) {
	b.Helper()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		_, err := otlp.DecodeLogs(body, enc, options(), stream(signal.Logs), func(batch *signal.Batch) error {
			rows += batch.Rows()
			batch.Release()
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkPdataUnmarshal is what unmarshalling alone costs with the library, for comparison.
func BenchmarkPdataUnmarshal(b *testing.B) {
	body, err := benchmarkLogs(1000).MarshalProto()
	require.NoError(b, err)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, plogotlp.NewExportRequest().UnmarshalProto(body))
	}
}
