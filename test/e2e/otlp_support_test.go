package e2e_test

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
)

// bigLogs returns one export request of about size bytes that compresses well.
func bigLogs(size int) plogotlp.ExportRequest {
	logs := plog.NewLogs()
	records := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	line := strings.Repeat("x", 1<<16)
	for range size / len(line) {
		records.AppendEmpty().Body().SetStr(line)
	}
	return plogotlp.NewExportRequestFromLogs(logs)
}
