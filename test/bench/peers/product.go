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

	"github.com/millstream/millstream/internal/testkit/proctest"
)

// product is Millstream on its defaults.
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
		"MS_LOG_LEVEL=warn")}
}

func (*product) healthPath() string { return "/api/v1/readyz" }

func (*product) insertPath() string { return "/api/v1/intake/logs/bench" }

func (*product) settled(m samples) bool { return m.sum("millstream_ingest_buffer_rows") == 0 }

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
