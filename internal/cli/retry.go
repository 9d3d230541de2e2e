package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// The bounds of waits between attempts.
const (
	firstWait = 200 * time.Millisecond
	longWait  = 15 * time.Second
)

// retrier repeats what failed for the moment: waits grow exponentially with full jitter, and are never shorter than the server asks
// for (Retry-After).
type retrier struct {
	giveUp time.Duration // after the first failure in a row; 0 = at once
	// sleep waits, or returns the context's error. It is a field so that tests need not wait.
	sleep func(ctx context.Context, d time.Duration) error
	say   func(format string, args ...any) // tells of the first wait and of long ones
}

func newRetrier(giveUp time.Duration, say func(format string, args ...any)) *retrier {
	return &retrier{giveUp: giveUp, sleep: sleep, say: say}
}

// do calls attempt until it returns no error, or one that a repetition does not mend, or until giveUp has passed.
func (r *retrier) do(ctx context.Context, attempt func() error) error {
	var waited time.Duration
	started := time.Now()
	for n := 0; ; n++ {
		err := attempt()
		if err == nil || ctx.Err() != nil || !temporary(err) {
			return err
		}
		wait := backoff(n, err)
		if max(waited, time.Since(started))+wait > r.giveUp {
			if n == 0 {
				return err
			}
			return fmt.Errorf("given up after %d attempts: %w", n+1, err)
		}
		if n == 0 || wait > longWait/3 {
			r.say("%v; again in %v", err, wait.Round(time.Millisecond))
		}
		if err := r.sleep(ctx, wait); err != nil {
			return err
		}
		waited += wait
	}
}

// pause waits as after a first failure; an error that a repetition does not mend is returned.
func (r *retrier) pause(ctx context.Context, err error) error {
	if !temporary(err) {
		return err
	}
	wait := backoff(0, err)
	r.say("%v; again in %v", err, wait.Round(time.Millisecond))
	return r.sleep(ctx, wait)
}

// backoff returns the wait after attempt n (from 0) failed with err.
func backoff(n int, err error) time.Duration {
	ceiling := min(firstWait<<min(n, 10), longWait)
	wait := time.Duration(rand.Int64N(int64(ceiling)))
	if api, ok := errors.AsType[*apiError](err); ok {
		wait += api.RetryAfter
	}
	return wait
}

// temporary reports whether the same request may succeed later.
func temporary(err error) bool {
	var api *apiError
	if !errors.As(err, &api) {
		return lost(err) || errors.Is(err, errRefused)
	}
	switch api.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// lost reports whether err leaves open what became of a request: it may have been carried out, but no answer came.
func lost(err error) bool {
	if api, ok := errors.AsType[*apiError](err); ok {
		return api.Status == http.StatusBadGateway || api.Status == http.StatusGatewayTimeout ||
			api.Status == http.StatusInternalServerError
	}
	var network net.Error
	return !errors.Is(err, errRefused) && (errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) || isCut(err))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
