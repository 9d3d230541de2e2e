package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// conditions are what a reader must know to judge the figures.
type conditions struct {
	settings

	generator             string
	bytes                 int64
	date                  string
	cores                 int
	processor             string
	loadBefore, loadAfter string // load averages over 1, 5 and 15 minutes
}

func describe(cfg settings, in *input) conditions {
	return conditions{
		settings: cfg, generator: in.generator, bytes: in.bytes, date: today(), cores: runtime.NumCPU(), processor: processorName(),
		loadBefore: loadAverage(),
	}
}

// loadAverage returns "" where the system does not tell.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// processorName returns "" where the system does not tell.
func processorName() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// publish prints the report and keeps a copy of it.
func publish(out io.Writer, about conditions, servers []dialect, results []result) error {
	kind := ""
	if about.metrics {
		kind = "-metrics"
	}
	return keep(out, fmt.Sprintf("%s%s-%d.md", about.date, kind, about.rows), report(about, servers, results))
}

// keep prints a report and writes it into the folder of results.
func keep(out io.Writer, name, text string) error {
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	folder := filepath.Join("test", "bench", "results")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of results: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
		return fmt.Errorf("keep the report: %w", err)
	}
	return nil
}

// report writes the whole document.
func report(about conditions, servers []dialect, results []result) string {
	var b strings.Builder
	versions := make([]string, len(servers))
	for i, s := range servers {
		versions[i] = s.name() + " " + s.version()
	}
	what := "rows of JSON lines"
	if about.metrics {
		what = "samples by remote write 1.0"
	}
	fmt.Fprintf(&b, "# %s, %d %s (%d MB, %s)\n\n", about.date, about.rows, what, about.bytes/1e6, about.generator)
	fmt.Fprintf(&b, "%s. %d cores (%s). Load average %s before, %s after. Loads: %d, rounds: %d, servers in turn, "+
		"medians; times include HTTP and JSON.\n\n", strings.Join(versions, ", "), about.cores, about.processor, about.loadBefore,
		about.loadAfter, about.loads, about.rounds)
	writeTable(&b, servers, results)
	for _, r := range results {
		for _, remark := range r.remarks {
			fmt.Fprintf(&b, "\n- %s: %s", r.name, remark)
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func writeTable(b *strings.Builder, servers []dialect, results []result) {
	b.WriteString("| |")
	for _, s := range servers {
		b.WriteString(" " + s.name() + " |")
	}
	b.WriteString(" ratio | to reach | |\n|---|" + strings.Repeat("---|", len(servers)+3) + "\n")
	for _, r := range results {
		fmt.Fprintf(b, "| %s |", r.name)
		for i := range servers {
			b.WriteString(" " + r.figure(i) + " |")
		}
		fmt.Fprintf(b, " %s | %s | %s |\n", r.ratioText(), r.goal.text(r.unit), r.verdict())
	}
}

// figure formats the value of one server with its unit.
func (r result) figure(i int) string {
	if math.IsNaN(r.values[i]) {
		return "failed"
	}
	return number(r.values[i]) + " " + r.unit
}

// ratio returns the product's figure divided by the peer's, NaN where the product failed.
func (r result) ratio() (float64, bool) {
	if len(r.values) < 2 || math.IsNaN(r.values[1]) || r.values[1] == 0 {
		return 0, false
	}
	return r.values[0] / r.values[1], true
}

func (r result) ratioText() string {
	if ratio, ok := r.ratio(); ok && !math.IsNaN(ratio) {
		return strconv.FormatFloat(ratio, 'f', 2, 64)
	}
	return "—"
}

// verdict says whether the goal is met: "" without a goal, or without the figure that it is about.
func (r result) verdict() string {
	ratio, compared := r.ratio()
	switch {
	case r.goal.ratio > 0 && compared:
		return verdictText(ratio <= r.goal.ratio)
	case r.goal.value > 0:
		return verdictText(r.values[0] <= r.goal.value)
	default:
		return ""
	}
}

func verdictText(met bool) string {
	if met {
		return "met"
	}
	return "not met"
}

func (g goal) text(unit string) string {
	switch {
	case g.ratio > 0:
		return "≤ " + strconv.FormatFloat(g.ratio, 'f', 1, 64) + " ×"
	case g.value > 0:
		return "≤ " + number(g.value) + " " + unit
	default:
		return ""
	}
}

// number keeps three digits of small figures and whole ones of large.
func number(v float64) string {
	switch {
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
}
