// Command loggen writes JSON log lines for benchmarks, the same ones for the same flags.
//
//	go run ./test/bench/loggen -n 300000 > logs.ndjson
//
// A line has nine fields: _time (1.2 ms apart), service (9 of them, unevenly busy), level (info 80 %, debug 14 %, warn 5 %,
// error 1 %), host (50), pod (200 a service), trace_id (unique), status, duration_ms (log-normal) and message: a sentence built from
// the templates of its service, a request number and one of 100,000 users.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	rows := flag.Int("n", 300_000, "rows to write")
	first := flag.String("start", "2026-11-01T00:00:00Z", "time of the first row, RFC 3339")
	step := flag.Duration("step", 1200*time.Microsecond, "time between rows")
	seed := flag.Uint64("seed", 42, "seed")
	flag.Parse()
	if err := run(os.Stdout, *rows, *first, *step, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "loggen:", err)
		os.Exit(1)
	}
}

func run(to io.Writer, rows int, first string, step time.Duration, seed uint64) error {
	start, err := time.Parse(time.RFC3339, first)
	if err != nil {
		return fmt.Errorf("read -start: %w", err)
	}
	w := bufio.NewWriterSize(to, 1<<20)
	g := newGenerator(seed)
	var line []byte
	for i := range rows {
		line = g.appendRow(line[:0], start.Add(time.Duration(i)*step))
		if _, err := w.Write(line); err != nil {
			return fmt.Errorf("write row %d: %w", i, err)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write the last rows: %w", err)
	}
	return nil
}
