package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/testkit/proctest"
)

// What settles sooner than by the defaults, so that a run need not wait for an hour: seconds between two looks for files to merge, and the
// shortest time for which merged files are kept.
const (
	mergeInterval = "MS_COMPACTOR_INTERVAL_SECS"
	mergePause    = 20
)

// product is Millstream on its defaults, but for how soon merged files go.
type product struct {
	program string
	build   string
}

func newProduct(ctx context.Context, root string) (*product, error) {
	p := &product{program: filepath.Join(root, "bin", "millstream")}
	out, err := exec.CommandContext(ctx, p.program, "version").Output()
	if err != nil {
		return nil, fmt.Errorf("ask bin/millstream for its version (make build builds it): %w", err)
	}
	p.build, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "millstream "), "\n")
	return p, nil
}

func (*product) name() string { return "Millstream" }

func (p *product) version() string { return p.build }

func (p *product) command(dir string, port int) proctest.Config {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "MS_") })
	return proctest.Config{Path: p.program, Env: append(env,
		"MS_NODE_DATA_DIR="+dir, "MS_NODE_ID=bench", "MS_HTTP_PORT="+strconv.Itoa(port), "MS_OTLP_HTTP_PORT=0", "MS_OTLP_GRPC_PORT=0",
		"MS_LOG_LEVEL=warn",
		fmt.Sprintf("%s=%d", mergeInterval, mergePause), "MS_COMPACTOR_DELETION_GRACE_SECS=61")}
}

func (*product) healthPath() string { return "/api/v1/readyz" }

func (*product) insertPath() string { return "/api/v1/intake/logs/bench" }

// settled: flushed, merged, and the files that were merged deleted.
func (*product) settled(m samples) bool {
	return m.sum("millstream_ingest_buffer_rows")+m.sum("millstream_compactor_merge_reserved_bytes") == 0 &&
		m.sum("millstream_compactor_merged_segments_total") == m.sum("millstream_compactor_deleted_objects_total")
}

func (*product) rest() time.Duration { return mergePause*time.Second + time.Second }

func (*product) statement(q question) string { return q.sql }

func (*product) query(ctx context.Context, base, statement string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/v1/query", strings.NewReader(statement))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/sql")
	req.Header.Set("Accept", "application/x-ndjson")
	return req, nil
}

// cells reads a row, an object by column. The last line of an answer is statistics and warnings.
func (*product) cells(line []byte, fields []string) ([]string, error) {
	if bytes.HasPrefix(line, []byte(`{"_meta":`)) {
		return nil, nil
	}
	return objectCells(line, fields)
}

// objectCells picks the fields of a JSON object: texts as they are, other values as JSON, what is missing as "".
func objectCells(line []byte, fields []string) ([]string, error) {
	var row map[string]json.RawMessage
	if err := json.Unmarshal(line, &row); err != nil {
		return nil, fmt.Errorf("read a row of the answer: %w", err)
	}
	cells := make([]string, len(fields))
	for i, f := range fields {
		var text string
		if err := json.Unmarshal(row[f], &text); err != nil {
			text = string(row[f])
		}
		cells[i] = text
	}
	return cells, nil
}
