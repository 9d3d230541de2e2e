package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"
)

// A bench is one run: the servers, what they are given, and where.
type bench struct {
	settings

	in       *input
	servers  []dialect // the product first
	dir      string    // of this run
	progress io.Writer
}

// A result is one row of the table: a figure of every server, in their order.
type result struct {
	name    string
	unit    string
	values  []float64 // NaN where the measurement failed
	goal    goal
	remarks []string
}

// A goal says what a figure should be. The zero goal wants nothing.
type goal struct {
	ratio float64 // to the peer's figure, at most
	value float64 // in the row's unit, at most
}

// measure runs everything and returns the rows of the table.
func (b *bench) measure(ctx context.Context) ([]result, error) {
	results, err := b.measureIntake(ctx)
	if err != nil {
		return nil, err
	}
	running := make([]*server, 0, len(b.servers))
	defer func() {
		for _, s := range running {
			s.stop()
		}
	}()
	for _, d := range b.servers {
		s, err := start(ctx, d, b.dataDir(d))
		if err != nil {
			return nil, err
		}
		running = append(running, s)
	}
	asked, err := b.measureQuestions(ctx, running)
	if err != nil {
		return nil, err
	}
	results = append(results, asked...)
	for _, x := range b.extras() {
		if b.questions.MatchString(x.name) && !b.metrics {
			fmt.Fprintln(b.progress, "measuring", x.name)
			results = append(results, measureExtra(ctx, x, running))
		}
	}
	return results, ctx.Err()
}

func measureExtra(ctx context.Context, x extra, servers []*server) result {
	row := result{name: x.name, unit: x.unit, goal: goal{value: x.goal}}
	for _, s := range servers {
		value, err := x.measure(ctx, s)
		if err != nil {
			value = math.NaN()
			row.remarks = append(row.remarks, fmt.Sprintf("%s: %v", s.name(), err))
		}
		row.values = append(row.values, value)
	}
	return row
}

func (b *bench) dataDir(d dialect) string { return filepath.Join(b.dir, d.name()) }

// measureIntake loads all rows into every server in turn, each time from an empty folder. The last load stays.
func (b *bench) measureIntake(ctx context.Context) ([]result, error) {
	figures := make([][]intake, len(b.servers))
	for range b.loads {
		for i, d := range b.servers {
			fmt.Fprintf(b.progress, "loading %d rows into %s\n", b.rows, d.name())
			if err := os.RemoveAll(b.dataDir(d)); err != nil {
				return nil, fmt.Errorf("empty the data folder: %w", err)
			}
			f, err := loadFresh(ctx, d, b.dataDir(d), b.in)
			if err != nil {
				return nil, fmt.Errorf("load rows into %s: %w", d.name(), err)
			}
			figures[i] = append(figures[i], f)
		}
	}
	goals := []float64{0.4, 0.7, 1, 0.8}
	if b.metrics {
		goals = []float64{0.8, 0, 0, 0}
	}
	rows := []result{
		{name: "intake, CPU to settled", unit: "s", goal: goal{ratio: goals[0]}},
		{name: "intake, wall, same client", unit: "s", goal: goal{ratio: goals[1]}},
		{name: "intake, peak memory", unit: "MB", goal: goal{ratio: goals[2]}},
		{name: "disk, settled", unit: "MB", goal: goal{ratio: goals[3]}},
	}
	for i, of := range []func(intake) float64{
		func(f intake) float64 { return f.cpu.Seconds() },
		func(f intake) float64 { return f.wall.Seconds() },
		func(f intake) float64 { return float64(f.memory) / 1e6 },
		func(f intake) float64 { return float64(f.disk) / 1e6 },
	} {
		for _, loads := range figures {
			values := make([]float64, len(loads))
			for j, f := range loads {
				values[j] = of(f)
			}
			rows[i].values = append(rows[i].values, median(values))
		}
	}
	return rows, nil
}

// intake is what one load cost a server.
type intake struct {
	wall   time.Duration // until the last acknowledgement
	cpu    time.Duration // until settled
	memory int64         // peak until settled, bytes
	disk   int64         // once settled, bytes
}

// loadFresh starts a server on an empty folder, loads the input and stops the server once it has settled.
func loadFresh(ctx context.Context, d dialect, dir string, in *input) (f intake, err error) {
	s, err := start(ctx, d, dir)
	if err != nil {
		return f, err
	}
	defer s.stop()
	before, err := cpuTime(s.process.PID())
	if err != nil {
		return f, err
	}
	begin := time.Now()
	if err := s.load(ctx, in); err != nil {
		return f, err
	}
	f.wall = time.Since(begin)
	if err := s.settle(ctx); err != nil {
		return f, err
	}
	after, err := cpuTime(s.process.PID())
	if err != nil {
		return f, err
	}
	f.cpu = after - before
	if f.memory, err = peakMemory(s.process.PID()); err != nil {
		return f, err
	}
	f.disk, err = diskUsage(dir)
	return f, err
}

// measureQuestions asks the questions that the settings choose.
func (b *bench) measureQuestions(ctx context.Context, servers []*server) ([]result, error) {
	var results []result
	list := questions(b.in.traceID)
	if b.metrics {
		list = metricQuestions()
	}
	for _, q := range list {
		if !b.questions.MatchString(q.name) {
			continue
		}
		fmt.Fprintln(b.progress, "asking", q.name)
		results = append(results, b.askInTurn(ctx, servers, q))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// askInTurn asks every server once, which warms its caches up and gives answers to compare, and then in turn as many times as the
// settings say. A server that fails has no figure.
func (b *bench) askInTurn(ctx context.Context, servers []*server, q question) result {
	row := result{name: q.name, unit: "ms", goal: goal{ratio: q.goal}}
	times, failed := make([][]float64, len(servers)), make([]bool, len(servers))
	answers := make([][][]string, len(servers))
	for round := range b.rounds + 1 {
		for i, s := range servers {
			if failed[i] {
				continue
			}
			took, rows, err := askTimed(ctx, s, q)
			switch {
			case err != nil:
				failed[i] = true
				row.remarks = append(row.remarks, fmt.Sprintf("%s: %v", s.name(), err))
			case round == 0:
				answers[i] = rows
			default:
				times[i] = append(times[i], took)
			}
		}
	}
	for i := range servers {
		if failed[i] {
			row.values = append(row.values, math.NaN())
			continue
		}
		row.values = append(row.values, median(times[i]))
		if answers[0] == nil || answers[i] == nil {
			continue // not to be compared
		}
		if d := difference(answers[0], answers[i]); d != "" && !failed[0] {
			row.remarks = append(row.remarks, fmt.Sprintf("%s and %s answer differently: %s", servers[0].name(), servers[i].name(), d))
		}
	}
	return row
}

// askTimed returns how long an answer took in milliseconds, to the last byte, and its rows.
func askTimed(ctx context.Context, s *server, q question) (took float64, rows [][]string, err error) {
	begin := time.Now()
	body, err := s.ask(ctx, s.statement(q))
	if err != nil {
		return 0, nil, err
	}
	text, err := io.ReadAll(body)
	took = milliseconds(time.Since(begin))
	if err := errors.Join(err, body.Close()); err != nil {
		return 0, nil, err
	}
	rows, err = readAnswer(s.dialect, text, q.fields)
	return took, rows, err
}
