package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/testkit/proctest"
)

// metricQuestions are those of dashboards over one hour.
func metricQuestions() []question {
	all := []string{"series", "time", "value"} // the answers are compared
	const sum = `sum by (job) (rate(http_requests_total%s[5m]))`
	return []question{
		{name: "sum by (job) (rate(m[5m]))", sql: fmt.Sprintf(sum, ""), fields: all, goal: 0.5},
		{
			name: "ratio of two such sums", sql: fmt.Sprintf(sum+" / "+sum, `{code="500"}`, ""), fields: all, goal: 0.5,
		},
		{
			name: "topk(5, sum by (instance) (increase(m[1m])))", fields: all, goal: 0.5,
			sql: `topk(5, sum by (instance) (increase(http_requests_total[1m])))`,
		},
		{
			name: "one instance's raw series", sql: `http_requests_total{instance="10.0.0.7:9100"}`, fields: all, goal: 1,
		},
		{name: "count(m)", sql: `count(http_requests_total)`, fields: all, goal: 0.5},
	}
}

// promDialect is what servers with Prometheus' HTTP API have in common.
type promDialect struct {
	base    string // path before /api/v1
	judged  bool   // its answers are compared
	program string
}

func (*promDialect) rest() time.Duration { return time.Second }

func (*promDialect) statement(q question) string { return q.sql }

// query asks over the hour of the samples, every 15 seconds.
func (p *promDialect) query(ctx context.Context, base, statement string) (*http.Request, error) {
	form := url.Values{
		"query": {statement}, "start": {strconv.Itoa(samplesBegin)}, "end": {strconv.Itoa(samplesBegin + 3600)}, "step": {"15"},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+p.base+"/api/v1/query_range", strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return req, nil
}

func (*promDialect) cells([]byte, []string) ([]string, error) {
	return nil, errors.New("the answer is one document")
}

// rows implements wholeReader: a row a point.
func (p *promDialect) rows(answer []byte) ([][]string, error) {
	var a struct {
		Data struct {
			Result []struct {
				Metric map[string]string `json:"metric"`
				Values [][2]any          `json:"values"`
			} `json:"result"`
		} `json:"data"`
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	if err := d.Decode(&a); err != nil {
		return nil, fmt.Errorf("read an answer: %w", err)
	}
	if len(a.Data.Result) == 0 {
		return nil, errors.New("the answer has no series")
	}
	if !p.judged {
		return nil, nil
	}
	var out [][]string
	for _, r := range a.Data.Result {
		var set []string
		for _, name := range slices.Sorted(maps.Keys(r.Metric)) {
			set = append(set, name+"="+r.Metric[name])
		}
		for _, v := range r.Values {
			out = append(out, []string{strings.Join(set, ","), fmt.Sprint(v[0]), fmt.Sprint(v[1])})
		}
	}
	return out, nil
}

// productMetrics is Millstream asked in PromQL.
type productMetrics struct {
	*product
	promDialect
}

func (p *productMetrics) rest() time.Duration { return p.product.rest() }

func (*productMetrics) insertPath() string { return "/api/v1/write" }

func (p *productMetrics) statement(q question) string { return p.promDialect.statement(q) }

func (p *productMetrics) query(ctx context.Context, base, statement string) (*http.Request, error) {
	return p.promDialect.query(ctx, base, statement)
}

func (p *productMetrics) cells(line []byte, fields []string) ([]string, error) {
	return p.promDialect.cells(line, fields)
}

const prometheusVersion = "v0.316.0"

// prometheusServer is Prometheus that takes remote writes, on its defaults but for retention.
type prometheusServer struct {
	promDialect
}

func newPrometheus(ctx context.Context, root string, progress io.Writer) (*prometheusServer, error) {
	p := &prometheusServer{promDialect{judged: true, program: filepath.Join(root, ".tools", "prometheus")}}
	if _, err := os.Stat(p.program); !errors.Is(err, os.ErrNotExist) {
		return p, err
	}
	fmt.Fprintf(progress, "building Prometheus %s, some minutes\n", prometheusVersion)
	cmd := exec.CommandContext(ctx, "make", ".tools/prometheus")
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, progress, progress
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build Prometheus: %w", err)
	}
	return p, nil
}

func (*prometheusServer) name() string { return "Prometheus" }

func (*prometheusServer) version() string { return prometheusVersion }

func (p *prometheusServer) command(dir string, port int) proctest.Config {
	config := filepath.Join(dir, "prometheus.yml")
	_ = os.WriteFile(config, []byte("global: {}\n"), 0o600) // the server says that it is missing
	return proctest.Config{Path: p.program, Args: []string{
		"--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.enable-remote-write-receiver",
		"--storage.tsdb.retention.time=100y", fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port), "--log.level=error",
	}}
}

func (*prometheusServer) healthPath() string { return "/-/ready" }

func (*prometheusServer) insertPath() string { return "/api/v1/write" }

func (*prometheusServer) settled(samples) bool { return true } // what is in its log stays there until its head is two hours old

const (
	victoriaMetricsVersion = "v1.151.0"
	victoriaMetricsPackage = "github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics"
)

// victoriaMetrics is VictoriaMetrics on its defaults but for retention. It extrapolates rates in its own way, so answers are not compared.
type victoriaMetrics struct {
	promDialect
}

func newVictoriaMetrics(ctx context.Context, root string, progress io.Writer) (*victoriaMetrics, error) {
	tools := filepath.Join(root, ".tools")
	v := &victoriaMetrics{promDialect{base: "/prometheus", program: filepath.Join(tools, "victoria-metrics-"+victoriaMetricsVersion)}}
	if _, err := os.Stat(v.program); !errors.Is(err, os.ErrNotExist) {
		return v, err
	}
	fmt.Fprintf(progress, "installing VictoriaMetrics %s, about a minute\n", victoriaMetricsVersion)
	cmd := exec.CommandContext(ctx, "go", "install", victoriaMetricsPackage+"@"+victoriaMetricsVersion)
	cmd.Env = append(os.Environ(), "GOBIN="+tools)
	cmd.Stdout, cmd.Stderr = progress, progress
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("install VictoriaMetrics: %w", err)
	}
	return v, os.Rename(filepath.Join(tools, "victoria-metrics"), v.program)
}

func (*victoriaMetrics) name() string { return "VictoriaMetrics" }

func (*victoriaMetrics) version() string { return victoriaMetricsVersion }

func (v *victoriaMetrics) command(dir string, port int) proctest.Config {
	return proctest.Config{Path: v.program, Args: []string{
		"-storageDataPath=" + dir, fmt.Sprintf("-httpListenAddr=127.0.0.1:%d", port), "-retentionPeriod=100y", "-loggerLevel=WARN",
		"-search.disableCache", // else a question that comes again is not evaluated
	}}
}

func (*victoriaMetrics) healthPath() string { return "/health" }

func (*victoriaMetrics) insertPath() string { return "/api/v1/write" }

func (*victoriaMetrics) settled(m samples) bool {
	return m.sum("vm_parts", `type="storage/inmemory"`)+m.sum("vm_pending_rows")+m.sum("vm_active_merges") == 0
}

// prepareMetricServers returns the servers for metrics.
func prepareMetricServers(ctx context.Context, root, only string, progress io.Writer) ([]dialect, error) {
	var all []dialect
	if only == "" || only == "product" {
		p, err := newProduct(ctx, root)
		if err != nil {
			return nil, err
		}
		all = append(all, &productMetrics{p, promDialect{base: "/prometheus", judged: true}})
	}
	if only == "" || only == "prometheus" {
		p, err := newPrometheus(ctx, root, progress)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if only == "" || only == "victoriametrics" {
		v, err := newVictoriaMetrics(ctx, root, progress)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("--only %s: product, prometheus and victoriametrics can be measured", only)
	}
	return all, nil
}
