// Command peers measures Millstream against VictoriaLogs, or against Prometheus and VictoriaMetrics: the same rows, the same client, the
// same questions, in turn on one machine.
//
//	make bench-peers                          3,000,000 rows; BENCH_ROWS changes that
//	make bench-peers ARGS='--quick'           300,000 rows
//	make bench-peers ARGS='--questions word'  only the rows of the table whose name matches
//	make bench-peers ARGS='--metrics'         3,600,000 samples of 10,000 series instead; with --quick of 1,000
//	make bench-growth                         Millstream alone with 0.1, 1 and 10 times as many rows, and with 1,000 streams and orgs
//
// It prints one markdown table with ratios and what docs/performance.md wants of them, and keeps a copy in test/bench/results. It
// judges nothing: the exit code only tells whether the measurement could be made. Run it from the root of the repository.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

const (
	defaultRows = 3_000_000
	quickRows   = 300_000
)

// settings say what to measure.
type settings struct {
	metrics   bool // samples instead of log rows
	growth    bool // the product alone with more and more rows
	rows      int
	loads     int // times that all rows are loaded; the questions are asked after the last
	rounds    int // times that a question is asked
	questions *regexp.Regexp
	only      string // name of the one server to measure; empty: all
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench-peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	cfg, err := parse(args, os.Getenv("BENCH_ROWS"), progress)
	if err != nil {
		return err
	}
	cache, err := filepath.Abs(filepath.Join(".cache", "bench"))
	if err != nil {
		return fmt.Errorf("find the working folder: %w", err)
	}
	if cfg.growth {
		return runGrowth(ctx, cfg, cache, out, progress)
	}
	prepare := prepareInput
	if cfg.metrics {
		prepare = prepareSamples
	}
	in, err := prepare(ctx, cache, cfg.rows, progress)
	if err != nil {
		return err
	}
	servers, err := prepareServers(ctx, cfg, progress)
	if err != nil {
		return err
	}
	b := &bench{settings: cfg, in: in, servers: servers, progress: progress}
	if b.dir, err = os.MkdirTemp(cache, "run-"); err != nil {
		return fmt.Errorf("make a folder for the run: %w", err)
	}
	defer os.RemoveAll(b.dir) //nolint:errcheck // the cache is emptied by make clean as well
	about := describe(cfg, in)
	results, err := b.measure(ctx)
	if err != nil {
		return err
	}
	about.loadAfter = loadAverage()
	return publish(out, about, servers, results)
}

// parse reads the command line; rows is the value of BENCH_ROWS.
func parse(args []string, rows string, usage io.Writer) (settings, error) {
	cfg := settings{rows: defaultRows}
	if rows != "" {
		n, err := strconv.Atoi(rows)
		if err != nil || n <= 0 {
			return cfg, fmt.Errorf("BENCH_ROWS: %q is no number of rows", rows)
		}
		cfg.rows = n
	}
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(usage)
	quick := flags.Bool("quick", false, "load 300,000 rows instead of BENCH_ROWS")
	flags.IntVar(&cfg.loads, "loads", 1, "times to load all rows, in turn; medians are shown")
	flags.IntVar(&cfg.rounds, "rounds", 5, "times to ask every question, in turn; medians are shown")
	flags.BoolVar(&cfg.metrics, "metrics", false, "measure metrics against Prometheus and VictoriaMetrics")
	flags.BoolVar(&cfg.growth, "growth", false, "measure the product alone with 0.1 and 10 times the rows, 1,000 streams and orgs")
	pattern := flags.String("questions", "", "ask only those whose name matches this regular expression")
	flags.StringVar(&cfg.only, "only", "", "measure one server: product, victorialogs, prometheus or victoriametrics")
	if err := flags.Parse(args); err != nil {
		return cfg, err
	}
	switch {
	case cfg.metrics && *quick:
		cfg.rows = quickSamples
	case cfg.metrics:
		cfg.rows = allSamples
	case *quick:
		cfg.rows = quickRows
	}
	if cfg.loads < 1 || cfg.rounds < 1 {
		return cfg, errors.New("--loads and --rounds are at least 1")
	}
	var err error
	if cfg.questions, err = regexp.Compile(*pattern); err != nil {
		return cfg, fmt.Errorf("read --questions: %w", err)
	}
	return cfg, nil
}

// today names the results of a run.
func today() string { return time.Now().UTC().Format(time.DateOnly) }
