package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millstream/millstream/internal/testkit/proctest"
)

// growthSteps are the sizes that --growth compares, as shares of BENCH_ROWS.
var growthSteps = []float64{0.1, 1, 10}

// spreads is how many streams, or orgs, the same rows are spread over.
const spreads = 1000

// A growth is one run with --growth: what more rows, more streams and more orgs cost the product.
type growth struct {
	settings

	product  *product
	cache    string
	dir      string
	progress io.Writer
	inputs   []*input // of growthSteps
}

// growthFigures are what a run found.
type growthFigures struct {
	loads     []intake // by size
	questions []result // a value by size
	memory    []memoryFigure
	spread    []spreadFigure
}

// runGrowth measures and publishes.
func runGrowth(ctx context.Context, cfg settings, cache string, out, progress io.Writer) error {
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	g := &growth{settings: cfg, cache: cache, progress: progress}
	if g.product, err = newProduct(ctx, root); err != nil {
		return err
	}
	for _, step := range growthSteps {
		in, err := prepareInput(ctx, cache, int(step*float64(cfg.rows)), progress)
		if err != nil {
			return err
		}
		g.inputs = append(g.inputs, in)
	}
	if g.dir, err = os.MkdirTemp(cache, "growth-"); err != nil {
		return fmt.Errorf("make a folder for the run: %w", err)
	}
	defer os.RemoveAll(g.dir) //nolint:errcheck // the cache is emptied by make clean as well
	about := describe(cfg, g.inputs[1])
	figures, err := g.measure(ctx)
	if err != nil {
		return err
	}
	about.loadAfter = loadAverage()
	return publishGrowth(out, about, g.product, figures)
}

func (g *growth) measure(ctx context.Context) (f growthFigures, err error) {
	if f.loads, err = g.measureLoads(ctx); err != nil {
		return f, err
	}
	if f.questions, err = g.measureQuestions(ctx); err != nil {
		return f, err
	}
	if f.memory, err = g.measureMemory(ctx, f.loads); err != nil {
		return f, err
	}
	f.spread, err = g.measureSpread(ctx)
	return f, err
}

func (g *growth) dataDir(rows int) string { return filepath.Join(g.dir, strconv.Itoa(rows)) }

// measureLoads loads every size into a folder of its own. Merging waits, so that all sizes are asked as flushes left them.
func (g *growth) measureLoads(ctx context.Context) ([]intake, error) {
	all := make([]intake, 0, len(g.inputs))
	for _, in := range g.inputs {
		fmt.Fprintf(g.progress, "loading %d rows\n", in.rows)
		f, err := loadFresh(ctx, g.configured(nil), g.dataDir(in.rows), in)
		if err != nil {
			return nil, fmt.Errorf("load %d rows: %w", in.rows, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// growthQuestions are the ones that may not grow with the rows, and two that do.
func (g *growth) growthQuestions() []question {
	wanted := []string{
		"count of everything", "count by level", "rare word, count", "rare word and phrase, newest 50", "one trace_id",
		"newest 100 errors, all columns",
	}
	list := slices.DeleteFunc(questions(g.inputs[0].traceID), func(q question) bool { return !slices.Contains(wanted, q.name) })
	for i := range list {
		list[i].fields = nil // the answers of different rows are different
	}
	return list
}

// measureQuestions asks the servers of all sizes in turn.
func (g *growth) measureQuestions(ctx context.Context) ([]result, error) {
	b := &bench{settings: g.settings, progress: g.progress}
	var running []*server
	defer func() {
		for _, s := range running {
			s.stop()
		}
	}()
	for _, in := range g.inputs {
		s, err := start(ctx, g.configured(nil), g.dataDir(in.rows))
		if err != nil {
			return nil, err
		}
		running = append(running, s)
	}
	var results []result
	for _, q := range g.growthQuestions() {
		fmt.Fprintln(g.progress, "asking", q.name)
		results = append(results, b.askInTurn(ctx, running, q))
	}
	return results, ctx.Err()
}

// exponent says how a figure grows with the rows: it is about rows to the power of it, between the second size and the third.
func exponent(values []float64) float64 {
	last := len(values) - 1
	return math.Log(values[last]/values[last-1]) / math.Log(growthSteps[last]/growthSteps[last-1])
}

// configured is the product with settings of its own, and without merging unless they say so.
func (g *growth) configured(env map[string]string) *configuredProduct {
	return &configuredProduct{product: g.product, env: env}
}

// A configuredProduct differs from the defaults.
type configuredProduct struct {
	*product

	env map[string]string
}

func (p *configuredProduct) command(dir string, port int) (cfg proctest.Config) {
	cfg = p.product.command(dir, port)
	if _, merges := p.env[mergeInterval]; !merges {
		cfg.Env = append(cfg.Env, "MS_COMPACTOR_TARGET_SIZE=1KiB") // no file is below it
	}
	for name, value := range p.env {
		cfg.Env = append(cfg.Env, name+"="+value)
	}
	return cfg
}

// rest does not wait for merges.
func (*configuredProduct) rest() time.Duration { return time.Second }

// A spreadFigure is what the same rows cost when they belong to one stream, or to many.
type spreadFigure struct {
	name     string
	cpu      []time.Duration // by round
	segments float64         // of the last round
}

// measureSpread loads the rows of the middle size, in as many requests each time, into one stream, many streams and many orgs.
func (g *growth) measureSpread(ctx context.Context) ([]spreadFigure, error) {
	in := *g.inputs[1]
	if err := in.recut(spreads); err != nil {
		return nil, err
	}
	stream := func(i int) (string, string) { return "/api/v1/intake/logs/bench-" + strconv.Itoa(i), "" }
	org := func(i int) (string, string) { return "/api/v1/intake/logs/bench", "org-" + strconv.Itoa(i) }
	targets := []target{func(int) (string, string) { return "/api/v1/intake/logs/bench", "" }, stream, org}
	figures := []spreadFigure{{name: "1 stream"}, {name: strconv.Itoa(spreads) + " streams"}, {name: strconv.Itoa(spreads) + " orgs"}}
	for range spreadRounds {
		for i := range figures {
			fmt.Fprintf(g.progress, "loading %d rows of %s\n", in.rows, figures[i].name)
			if err := g.loadSpread(ctx, &in, targets[i], &figures[i]); err != nil {
				return nil, fmt.Errorf("load rows of %s: %w", figures[i].name, err)
			}
		}
	}
	return figures, nil
}

const spreadRounds = 3

func (g *growth) loadSpread(ctx context.Context, in *input, to target, f *spreadFigure) (err error) {
	dir := filepath.Join(g.dir, "spread")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	s, err := start(ctx, g.configured(nil), dir)
	if err != nil {
		return err
	}
	defer s.stop()
	before, err := cpuTime(s.process.PID())
	if err != nil {
		return err
	}
	if err := s.loadTo(ctx, in, to); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	after, err := cpuTime(s.process.PID())
	if err != nil {
		return err
	}
	f.cpu = append(f.cpu, after-before)
	m, err := s.samples(ctx)
	f.segments = m.sum("millstream_ingest_segments_total")
	return err
}

// publishGrowth prints the report and keeps a copy of it.
func publishGrowth(out io.Writer, about conditions, p *product, f growthFigures) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, growth around %d rows (%s)\n\nMillstream %s. %d cores (%s). Load average %s before, %s after. Rounds: %d, sizes "+
		"in turn, medians; times include HTTP and JSON. Nothing was merged before the questions.\n\n", about.date, about.rows,
		about.generator, p.version(), about.cores, about.processor, about.loadBefore, about.loadAfter, about.rounds)
	writeGrowth(&b, about.rows, f)
	return keep(out, fmt.Sprintf("%s-growth-%d.md", about.date, about.rows), b.String())
}
