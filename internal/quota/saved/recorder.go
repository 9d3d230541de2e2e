package saved

import (
	"context"
	"log/slog"
	"time"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/quota"
)

// every is the pause between two writes.
const every = time.Second

// Buckets are quota.Rows.
type Buckets interface {
	// Refresh lets changed limits count and forgets what needs no state.
	Refresh()
	Saved(at time.Time) map[quota.Database]quota.Tokens
}

// Recorder writes the file while a process runs.
type Recorder struct {
	Path    string
	Buckets Buckets
	Now     func() time.Time // the clock of quota.Tokens.At
	Clock   clock.Clock
	Logger  *slog.Logger

	soon chan struct{}
}

// NewRecorder returns r, ready for Soon.
func NewRecorder(r Recorder) *Recorder {
	r.soon = make(chan struct{}, 1)
	return &r
}

// Soon asks for a write now. It does not block.
func (r *Recorder) Soon() {
	select {
	case r.soon <- struct{}{}:
	default: // asked for already
	}
}

// Run writes until ctx ends. At once it takes the word of the process before it off the file, so that a crash is seen as one.
func (r *Recorder) Run(ctx context.Context) error {
	wrote, failed := true, false
	for {
		r.Buckets.Refresh()
		tokens := r.Buckets.Saved(r.Now())
		if wrote || len(tokens) > 0 { // once more after the last bucket is full
			err := Write(r.Path, State{Tokens: tokens})
			if err != nil && !failed {
				r.Logger.WarnContext(ctx, "debts of databases are not written down; a restart would forget them", "error", err)
			}
			failed = err != nil
		}
		wrote = len(tokens) > 0 || failed
		select {
		case <-ctx.Done():
			return nil
		case <-r.soon:
		case <-r.Clock.After(every):
		}
	}
}

// Close writes the last word, once no request is taken any more.
func (r *Recorder) Close() error {
	return Write(r.Path, State{Tokens: r.Buckets.Saved(r.Now()), Clean: true})
}
