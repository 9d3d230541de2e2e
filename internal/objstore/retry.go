package objstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/millstream/millstream/internal/fault"
)

// RetryOptions bounds how an operation is repeated.
type RetryOptions struct {
	// Tries is how often an operation is tried in all; 0 means 5.
	Tries int
	// MinWait and MaxWait bound the wait before the second and every later try. It doubles from try to try and is drawn at random
	// between nothing and that bound, so that clients which failed together do not come back together. 0 means 50 ms and 5 s.
	MinWait, MaxWait time.Duration
}

func (o RetryOptions) withDefaults() RetryOptions {
	if o.Tries == 0 {
		o.Tries = 5
	}
	if o.MinWait == 0 {
		o.MinWait = 50 * time.Millisecond
	}
	if o.MaxWait == 0 {
		o.MaxWait = 5 * time.Second
	}
	return o
}

// Retry returns a store that repeats operations of s which ended in fault.Unavailable. A read that breaks off in its middle goes on
// where it was. A listing is repeated only as long as nothing was visited.
func Retry(s Store, opts RetryOptions) Store {
	return &retrying{next: s, opts: opts.withDefaults()}
}

type retrying struct {
	next Store
	opts RetryOptions
}

// do calls f until it succeeds, fails for good, or was tried often enough.
func (r *retrying) do(ctx context.Context, f func() error) error {
	bound := r.opts.MinWait
	for try := 1; ; try++ {
		err := f()
		if !fault.Is(err, fault.Unavailable) || try == r.opts.Tries {
			return err
		}
		if waitErr := wait(ctx, rand.N(bound)); waitErr != nil {
			return fmt.Errorf("%w while waiting to repeat after: %w", waitErr, err)
		}
		bound = min(2*bound, r.opts.MaxWait)
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Get implements Reader.
func (r *retrying) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	return r.resume(ctx, key, 0, wholeObject, func() (io.ReadCloser, error) { return r.next.Get(ctx, key) })
}

// GetRange implements Reader.
func (r *retrying) GetRange(ctx context.Context, key string, off, length int64) (io.ReadCloser, error) {
	return r.resume(ctx, key, off, length, func() (io.ReadCloser, error) { return r.next.GetRange(ctx, key, off, length) })
}

// Stat implements Reader.
func (r *retrying) Stat(ctx context.Context, key string) (info Info, err error) {
	err = r.do(ctx, func() error {
		info, err = r.next.Stat(ctx, key)
		return err
	})
	return info, err
}

// LocalPath implements Reader.
func (r *retrying) LocalPath(key string) (string, bool) { return r.next.LocalPath(key) }

// Put implements Store.
func (r *retrying) Put(ctx context.Context, key string, content io.ReaderAt, size int64) error {
	return r.do(ctx, func() error { return r.next.Put(ctx, key, content, size) })
}

// PutFile implements Store.
func (r *retrying) PutFile(ctx context.Context, key, path string) error {
	return r.do(ctx, func() error { return r.next.PutFile(ctx, key, path) })
}

// Delete implements Store.
func (r *retrying) Delete(ctx context.Context, key string) error {
	return r.do(ctx, func() error { return r.next.Delete(ctx, key) })
}

// List implements Store.
func (r *retrying) List(ctx context.Context, prefix string, visit func(Entry) error) error {
	visited := false
	var final error // of a listing that cannot begin again
	err := r.do(ctx, func() error {
		err := r.next.List(ctx, prefix, func(e Entry) error {
			visited = true
			return visit(e)
		})
		if visited {
			final = err
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return final
}

// Close implements Store.
func (r *retrying) Close() error { return r.next.Close() }

func (r *retrying) resume(ctx context.Context, key string, off, length int64, open func() (io.ReadCloser, error)) (io.ReadCloser, error) {
	var body io.ReadCloser
	err := r.do(ctx, func() (err error) {
		body, err = open()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &resumed{
		body: body, off: off, left: length,
		reopen: func(off, length int64) (io.ReadCloser, error) {
			var body io.ReadCloser
			err := r.do(ctx, func() (err error) {
				body, err = r.next.GetRange(ctx, key, off, length)
				return err
			})
			return body, err
		},
		broken: func(err error) bool { return ctx.Err() == nil && !errors.Is(err, io.EOF) },
		tries:  r.opts.Tries,
	}, nil
}

// fileSize returns the size of a file that was just stored, 0 when it is gone already.
func fileSize(path string) float64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return float64(info.Size())
}
