package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// An extra is a row of the table that is measured once a server, after the questions.
type extra struct {
	name    string
	unit    string
	goal    float64 // wanted of the figure, at most
	measure func(ctx context.Context, s *server) (float64, error)
}

// extras returns them in an order that keeps the last for what changes the data.
func (b *bench) extras() []extra {
	return []extra{
		{"first row of a streamed million", "ms", 150, b.firstRow},
		{"CPU in the second after the first second of a cancelled query", "ms", 50, cancelledWork},
		{"p99 of a small write during a bulk load", "ms", 20, b.smallWrites},
	}
}

// firstRow returns the median time to the first row of an answer of a million rows, or of all there are.
func (b *bench) firstRow(ctx context.Context, s *server) (float64, error) {
	q := question{sql: `SELECT * FROM bench LIMIT 1000000`, logsQL: `* | limit 1000000`}
	times := make([]float64, 0, b.rounds)
	for range b.rounds {
		took, err := timeToFirstLine(ctx, s, s.statement(q))
		if err != nil {
			return 0, err
		}
		times = append(times, took)
	}
	return median(times), nil
}

// timeToFirstLine gives up the answer after its first line.
func timeToFirstLine(ctx context.Context, s *server, statement string) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := time.Now()
	body, err := s.ask(ctx, statement)
	if err != nil {
		return 0, err
	}
	_, err = bufio.NewReader(body).ReadSlice('\n')
	took := milliseconds(time.Since(begin))
	cancel()
	_ = body.Close() // it was cut off on purpose
	if errors.Is(err, bufio.ErrBufferFull) {
		err = nil
	}
	return took, err
}

// cancelledWork starts a query that takes long, hangs up, lets one second pass and returns the CPU time of the next second.
func cancelledWork(ctx context.Context, s *server) (float64, error) {
	const patience, grace, window = 300 * time.Millisecond, time.Second, time.Second
	q := question{
		sql:    `SELECT count(*) AS n FROM bench a, bench b WHERE a.duration_ms + b.duration_ms > 1 AND a.trace_id < b.trace_id`,
		logsQL: `* | stats by (trace_id, _msg, pod, duration_ms) count() n | sort by (n desc, trace_id)`,
	}
	asking, hangUp := context.WithTimeout(ctx, patience)
	defer hangUp()
	if body, err := s.ask(asking, s.statement(q)); err == nil {
		err = discard(body, nil)
		if err == nil {
			return 0, fmt.Errorf("the query was over within %v", patience)
		}
	} else if asking.Err() == nil {
		return 0, err
	}
	if err := wait(ctx, grace); err != nil {
		return 0, err
	}
	before, err := cpuTime(s.process.PID())
	if err != nil {
		return 0, err
	}
	if err := wait(ctx, window); err != nil {
		return 0, err
	}
	after, err := cpuTime(s.process.PID())
	return milliseconds(after - before), err
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// smallWrites sends ten rows fifty times a second while another connection loads the input, and returns the 99th percentile of the
// time to the acknowledgement.
func (b *bench) smallWrites(ctx context.Context, s *server) (float64, error) {
	const interval, span = 20 * time.Millisecond, 10 * time.Second
	lines, err := b.in.firstLines(10)
	if err != nil {
		return 0, err
	}
	loading, stop := context.WithCancel(ctx)
	loaded := make(chan error, 1)
	go func() { loaded <- loadUntil(loading, s, b.in) }()
	times, err := writeEvery(ctx, s, lines, interval, int(span/interval))
	stop()
	if err := errors.Join(err, <-loaded); err != nil {
		return 0, err
	}
	return quantile(times, 0.99), nil
}

// loadUntil loads the input again and again until ctx ends.
func loadUntil(ctx context.Context, s *server, in *input) error {
	for {
		if err := s.load(ctx, in); ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// writeEvery sends the lines so many times, an interval apart whether or not earlier ones are acknowledged.
func writeEvery(ctx context.Context, s *server, lines []byte, interval time.Duration, times int) ([]float64, error) {
	var (
		took   = make([]float64, times)
		errs   = make([]error, times)
		writes sync.WaitGroup
	)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for i := range times {
		writes.Go(func() {
			begin := time.Now()
			errs[i] = s.insert(ctx, bytes.NewReader(lines), int64(len(lines)))
			took[i] = milliseconds(time.Since(begin))
		})
		<-tick.C
	}
	writes.Wait()
	return took, errors.Join(errs...)
}

// firstLines returns the first n lines of the input.
func (in *input) firstLines(n int) (lines []byte, err error) {
	f, err := os.Open(in.path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	r := bufio.NewReader(f)
	for range n {
		line, err := r.ReadBytes('\n')
		lines = append(lines, line...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return lines, nil
}
