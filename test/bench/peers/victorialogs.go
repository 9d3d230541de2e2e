package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/testkit/proctest"
)

const (
	victoriaLogsVersion = "v1.52.1"
	victoriaLogsPackage = "github.com/VictoriaMetrics/VictoriaLogs/app/victoria-logs"
)

// victoriaLogs is the peer on its defaults, with retention long enough for rows of any date.
type victoriaLogs struct{ program string }

// newVictoriaLogs installs the program into .tools when it is missing.
func newVictoriaLogs(ctx context.Context, root string, progress io.Writer) (*victoriaLogs, error) {
	tools := filepath.Join(root, ".tools")
	v := &victoriaLogs{program: filepath.Join(tools, "victoria-logs-"+victoriaLogsVersion)}
	if _, err := os.Stat(v.program); !errors.Is(err, os.ErrNotExist) {
		return v, err
	}
	fmt.Fprintf(progress, "installing VictoriaLogs %s, about a minute\n", victoriaLogsVersion)
	cmd := exec.CommandContext(ctx, "go", "install", victoriaLogsPackage+"@"+victoriaLogsVersion)
	cmd.Env = append(os.Environ(), "GOBIN="+tools)
	cmd.Stdout, cmd.Stderr = progress, progress
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("install VictoriaLogs: %w", err)
	}
	return v, os.Rename(filepath.Join(tools, "victoria-logs"), v.program)
}

func (*victoriaLogs) name() string { return "VictoriaLogs" }

func (*victoriaLogs) version() string { return victoriaLogsVersion }

func (v *victoriaLogs) command(dir string, port int) proctest.Config {
	return proctest.Config{Path: v.program, Args: []string{
		"-storageDataPath=" + dir, fmt.Sprintf("-httpListenAddr=127.0.0.1:%d", port), "-retentionPeriod=100y", "-loggerLevel=WARN",
	}}
}

func (*victoriaLogs) healthPath() string { return "/health" }

func (*victoriaLogs) insertPath() string {
	return "/insert/jsonline?_stream_fields=service,host&_time_field=_time&_msg_field=message"
}

func (*victoriaLogs) rest() time.Duration { return time.Second }

func (*victoriaLogs) settled(m samples) bool {
	return m.sum("vl_storage_parts", `type="storage/inmemory"`)+m.sum("vl_pending_rows")+m.sum("vl_active_merges") == 0
}

func (*victoriaLogs) statement(q question) string { return q.logsQL }

func (*victoriaLogs) query(ctx context.Context, base, statement string) (*http.Request, error) {
	form := url.Values{"query": {statement}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/select/logsql/query", strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return req, nil
}

// cells reads a row, an object of texts, whose time and message have names of their own.
func (*victoriaLogs) cells(line []byte, fields []string) ([]string, error) {
	own := make([]string, len(fields))
	for i, f := range fields {
		switch f {
		case "_timestamp":
			own[i] = "_time"
		case "message":
			own[i] = "_msg"
		default:
			own[i] = f
		}
	}
	return objectCells(line, own)
}
