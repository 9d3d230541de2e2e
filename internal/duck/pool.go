package duck

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/tenant"
)

// tempPrefix begins the name of every instance's directory below Options.TempDir.
const tempPrefix = "duckdb-instance-"

// ErrClosed is returned by Acquire after Close.
var ErrClosed = fault.New(fault.Unavailable, "the SQL engine is shutting down")

// Pool hands out instances. Its methods are safe for concurrent use.
type Pool struct {
	opts    Options
	logger  *slog.Logger
	metrics *metrics
	places  *semaphore.Weighted
	parser  *Parser

	mu struct {
		sync.Mutex
		idle    []*Instance // least recently used first
		running map[*Instance]struct{}
		closed  bool
		opened  uint64 // instances opened so far, for names
	}
}

// NewPool checks opts, removes what an earlier process left in opts.TempDir and opens the parser's engine. It starts no goroutine.
func NewPool(opts Options, logger *slog.Logger, reg prometheus.Registerer) (*Pool, error) {
	if err := opts.Validate(); err != nil {
		return nil, fault.Wrap(fault.Invalid, err, "SQL engine options: %s", err)
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if err := cleanTempDir(opts.TempDir); err != nil {
		return nil, fmt.Errorf("clean temporary directory of the SQL engine: %w", err)
	}
	p := &Pool{opts: opts, logger: logger, metrics: newMetrics(reg), places: semaphore.NewWeighted(int64(opts.Concurrency))}
	p.mu.running = make(map[*Instance]struct{})
	parser, err := newParser(filepath.Join(opts.TempDir, tempPrefix+"parser"))
	if err != nil {
		return nil, err
	}
	p.parser = parser
	return p, nil
}

func cleanTempDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// TempDir returns the directory that the pool owns.
func (p *Pool) TempDir() string { return p.opts.TempDir }

// Parser returns the pool's parser, which lives as long as the pool.
func (p *Pool) Parser() *Parser { return p.parser }

// Acquire waits for one of Options.Concurrency places and returns an instance that only statements of the same orgs have used: an idle
// one, or a new one (15–80 ms). The caller releases it and does not change orgs. Errors: the context's, ErrClosed, or fault.Unavailable
// when no instance could be opened.
func (p *Pool) Acquire(ctx context.Context, orgs ...tenant.ID) (*Instance, error) {
	p.metrics.waiting.Inc()
	err := p.places.Acquire(ctx, 1)
	p.metrics.waiting.Dec()
	if err != nil {
		return nil, context.Cause(ctx)
	}
	inst, err := p.take(orgs)
	if err != nil {
		p.places.Release(1)
		return nil, err
	}
	p.metrics.running.Inc()
	return inst, nil
}

// take returns a warm instance of the orgs or a new one, registered as running. The caller has a place.
func (p *Pool) take(orgs []tenant.ID) (*Instance, error) {
	p.mu.Lock()
	if p.mu.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	for i, inst := range slices.Backward(p.mu.idle) {
		if !slices.Equal(inst.orgs, orgs) {
			continue
		}
		p.mu.idle = append(p.mu.idle[:i], p.mu.idle[i+1:]...)
		p.mu.running[inst] = struct{}{}
		inst.used = true
		p.metrics.idle.Set(float64(len(p.mu.idle)))
		p.mu.Unlock()
		return inst, nil
	}
	p.mu.opened++
	name := tempPrefix + strconv.FormatUint(p.mu.opened, 10)
	p.mu.Unlock()

	eng, err := openEngine(settings{
		memoryBytes: p.opts.instanceMemory(), tempBytes: p.opts.instanceTemp(), threads: p.opts.instanceThreads(),
		tempDir: filepath.Join(p.opts.TempDir, name), dataDirs: p.opts.dataDirs(orgs),
	})
	if err != nil {
		return nil, err
	}
	p.metrics.opened.Inc()
	inst := &Instance{pool: p, orgs: orgs, engine: eng, used: true}
	p.mu.Lock()
	p.mu.running[inst] = struct{}{}
	closed := p.mu.closed
	p.mu.Unlock()
	if closed {
		p.forget(inst)
		eng.close()
		return nil, ErrClosed
	}
	return inst, nil
}

func (p *Pool) forget(inst *Instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.running, inst)
}

// putBack makes inst idle, or closes it when it is not clean or the pool has no use for it, and frees its place.
func (p *Pool) putBack(inst *Instance, clean bool) {
	var surplus []*Instance
	p.mu.Lock()
	delete(p.mu.running, inst)
	if clean && !p.mu.closed && p.opts.WarmInstances > 0 {
		p.mu.idle = append(p.mu.idle, inst)
		if n := len(p.mu.idle) - p.opts.WarmInstances; n > 0 {
			surplus = append(surplus, p.mu.idle[:n]...)
			p.mu.idle = append(p.mu.idle[:0], p.mu.idle[n:]...)
		}
	} else {
		surplus = append(surplus, inst)
	}
	p.metrics.idle.Set(float64(len(p.mu.idle)))
	p.mu.Unlock()
	for _, s := range surplus {
		s.engine.close()
	}
	p.metrics.running.Dec()
	p.places.Release(1)
}

// Close refuses further Acquire calls, interrupts running statements and waits until every instance is released and closed. Callers of
// running statements get an error and must still release. Close is idempotent.
func (p *Pool) Close() error {
	p.mu.Lock()
	if p.mu.closed {
		p.mu.Unlock()
		return nil
	}
	p.mu.closed = true
	idle := p.mu.idle
	p.mu.idle = nil
	for inst := range p.mu.running {
		inst.interrupt()
	}
	p.mu.Unlock()
	for _, inst := range idle {
		inst.engine.close()
	}
	p.metrics.idle.Set(0)
	// Every place comes back by Release; nothing else can end the wait.
	if err := p.places.Acquire(context.Background(), int64(p.opts.Concurrency)); err != nil { //nolint:forbidigo // see above
		return err
	}
	p.places.Release(int64(p.opts.Concurrency))
	p.parser.close()
	return nil
}
