package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Stage is one part of a process. Nil functions are left out.
type Stage struct {
	Name string
	// Start makes the stage ready for those after it. It may take long (a replay) and obeys the context.
	Start func(ctx context.Context) error
	// Run works until the context ends and then returns nil. Returning earlier stops the process; an error is its cause.
	Run func(ctx context.Context) error
	// Stop gives up what Start took, after Run has returned. It obeys the context's deadline.
	Stop func(ctx context.Context) error
}

// Group runs stages.
type Group struct {
	// DrainTimeout bounds the stopping of all stages together.
	DrainTimeout time.Duration
	Logger       *slog.Logger

	stages []Stage
}

// Add appends a stage. Stages start in this order.
func (g *Group) Add(s Stage) { g.stages = append(g.stages, s) }

// running is a stage that was started.
type running struct {
	Stage
	cancel context.CancelFunc
	done   chan struct{} // closed when Run has returned
}

// Run starts the stages, waits until ctx ends or a stage fails, and stops them in reverse order. It returns the failure that ended
// it, joined with those of stopping; nil after a clean stop.
func (g *Group) Run(ctx context.Context) error {
	var started []*running
	failed := make(chan error, len(g.stages))
	var cause error
	for _, s := range g.stages {
		r, err := g.start(ctx, s, failed)
		if r != nil {
			started = append(started, r)
		}
		if err != nil {
			cause = fmt.Errorf("start %s: %w", s.Name, err)
			break
		}
	}
	if cause == nil {
		select {
		case <-ctx.Done():
		case cause = <-failed:
		}
	} else if ctx.Err() != nil {
		cause = nil // asked to stop while starting
	}
	return errors.Join(cause, g.stop(ctx, started))
}

// start starts one stage and its Run.
func (g *Group) start(ctx context.Context, s Stage, failed chan<- error) (*running, error) {
	if s.Start != nil {
		if err := s.Start(ctx); err != nil {
			return &running{Stage: s, cancel: func() {}, done: closed()}, err
		}
	}
	r := &running{Stage: s, done: closed(), cancel: func() {}}
	if s.Run == nil {
		return r, nil
	}
	// Run ends in its turn of the drain, not when the process is asked to stop.
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel, r.done = cancel, make(chan struct{})
	go func() {
		defer close(r.done)
		err := s.Run(runCtx)
		if runCtx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
			return
		}
		if err == nil {
			err = errors.New("ended by itself")
		}
		failed <- fmt.Errorf("%s: %w", s.Name, err)
	}()
	return r, nil
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// stop stops started stages, the last first, within the drain timeout.
func (g *Group) stop(ctx context.Context, started []*running) error {
	// The context that ended the process must not cut its drain short.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.DrainTimeout)
	defer cancel()
	var errs []error
	for _, r := range slices.Backward(started) {
		began := time.Now()
		r.cancel()
		select {
		case <-r.done:
		case <-ctx.Done():
			g.Logger.Error("stage does not end, going on without it", "stage", r.Name)
			errs = append(errs, fmt.Errorf("stop %s: %w", r.Name, ctx.Err()))
			continue
		}
		if r.Stop != nil {
			if err := r.Stop(ctx); err != nil {
				errs = append(errs, fmt.Errorf("stop %s: %w", r.Name, err))
			}
		}
		g.Logger.Debug("stage stopped", "stage", r.Name, "took", time.Since(began))
	}
	return errors.Join(errs...)
}
