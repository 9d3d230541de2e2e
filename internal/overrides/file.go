package overrides

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/tenant"
)

// maxFileBytes bounds the file: a hundred thousand orgs with ten limits each.
const maxFileBytes = 64 << 20

// How long the content of a file must stay the same before it is used. The second is for a file whose last line has no end, as one
// that is cut in the middle of a number.
const (
	settleTime         = 100 * time.Millisecond
	settleTimeUnending = 500 * time.Millisecond
)

// Options are the settings of a File.
type Options struct {
	// Path is the file. It may be a symbolic link that is exchanged, as Kubernetes does with a ConfigMap.
	Path string
	// Period is how often the file is looked at when no event tells of a change. Default 10 s.
	Period time.Duration
}

// Target takes what the file says: limits.Source.
type Target interface {
	Replace(overrides map[tenant.ID]limits.Override)
}

// Deps are the collaborators.
type Deps struct {
	Target     Target
	Clock      clock.Clock           // nil: the system's
	Logger     *slog.Logger          // nil: discard
	Registerer prometheus.Registerer // nil: no metrics
}

// File is an overrides file that is followed. Its methods are safe for concurrent use.
type File struct {
	opts    Options
	deps    Deps
	metrics *metrics

	mu struct {
		sync.Mutex
		text    []byte // as last judged, good or not
		inForce map[tenant.ID]limits.Override
		status  Status
	}
}

// Status tells what became of the file.
type Status struct {
	Path string
	// Loaded is when the values in force were put there; the zero time when that has not happened.
	Loaded time.Time
	// Judged is when a change was last looked at.
	Judged time.Time
	// Faults are those of the content that was judged last. One without an org means that nothing of it is in force.
	Faults []Fault
}

// New returns a File. Nothing is read before Load.
func New(opts Options, deps Deps) *File {
	if opts.Period <= 0 {
		opts.Period = 10 * time.Second
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	f := &File{opts: opts, deps: deps, metrics: newMetrics(deps.Registerer)}
	f.mu.status.Path = opts.Path
	return f
}

// Load reads the file for the first time. It fails with fault.Invalid when the file as a whole cannot be used; entries with faults are
// left out and told.
func (f *File) Load() error {
	now, err := f.read()
	if err != nil {
		return fault.Wrap(fault.Invalid, err, "overrides.file cannot be read: %v", err)
	}
	f.judge(now.text)
	for _, bad := range f.Status().Faults {
		if bad.Org == "" {
			return fault.New(fault.Invalid, "overrides.file: %s:%s", f.opts.Path, bad)
		}
	}
	return nil
}

// Status returns what became of the file.
func (f *File) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.status
}

// Run follows the file until ctx ends.
func (f *File) Run(ctx context.Context) error {
	w := newWatch(f.opts.Path, f.deps.Logger)
	defer w.close()
	poll := f.deps.Clock.After(f.opts.Period)
	var (
		candidate *reading         // at the last change
		settled   <-chan time.Time // when it is read again
	)
	for {
		again := false
		select {
		case <-ctx.Done():
			return nil
		case <-w.events():
			again = settled == nil
		case <-poll:
			poll = f.deps.Clock.After(f.opts.Period)
			w.renew()
			again = settled == nil
		case <-settled:
			settled, again = nil, true
		}
		if !again {
			continue // a change of what is being waited for is seen then
		}
		now, err := f.read()
		switch {
		case err != nil:
			f.unreadable(err)
			candidate = nil
		case f.isJudged(now.text):
			candidate = nil
		case now.isSame(candidate):
			f.judge(now.text)
			candidate = nil
		default:
			candidate = now
			settled = f.deps.Clock.After(settleTimeOf(now.text))
		}
	}
}

func settleTimeOf(text []byte) time.Duration {
	if len(text) == 0 || text[len(text)-1] != '\n' {
		return settleTimeUnending
	}
	return settleTime
}

// reading is the file as it was at one moment.
type reading struct {
	text []byte
	info os.FileInfo
}

// isSame reports whether nothing was written between two readings. Equal texts do not tell that: two edits may be cut off at one place.
func (r *reading) isSame(before *reading) bool {
	return before != nil && os.SameFile(r.info, before.info) && r.info.ModTime().Equal(before.info.ModTime()) &&
		bytes.Equal(r.text, before.text)
}

// read returns the file's content and what it is of.
func (f *File) read() (*reading, error) {
	file, err := os.Open(f.opts.Path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	info, statErr := file.Stat()
	err = errors.Join(err, statErr, file.Close())
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("%s has more than %d MiB", f.opts.Path, maxFileBytes>>20)
	}
	return &reading{text, info}, err
}

func (f *File) isJudged(text []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.text != nil && bytes.Equal(f.mu.text, text)
}

// unreadable notes that the file cannot be read; what is in force stays. It is told once.
func (f *File) unreadable(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	message := "the file cannot be read: " + err.Error()
	if known := f.mu.status.Faults; len(known) == 1 && known[0].Message == message {
		return
	}
	f.mu.text = nil // when the old content comes back it counts as a change
	f.mu.status.Judged = f.deps.Clock.Now()
	f.mu.status.Faults = []Fault{{Message: message}}
	f.metrics.judged(resultFailed, f.mu.status, f.mu.inForce)
	f.deps.Logger.Error("overrides file cannot be read, the last good values stay in force", "path", f.opts.Path, "error", err)
}

// judge reads a content and puts in force what is good of it.
func (f *File) judge(text []byte) {
	doc := Parse(text)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.text = bytes.Clone(text)
	if f.mu.text == nil {
		f.mu.text = []byte{}
	}
	f.mu.status.Judged, f.mu.status.Faults = f.deps.Clock.Now(), doc.Faults
	for _, bad := range doc.Faults {
		f.deps.Logger.Error("overrides file has a fault", "path", f.opts.Path, "line", bad.Line, "org", bad.Org, "fault", bad.Message)
	}
	if doc.Broken() {
		f.metrics.judged(resultFailed, f.mu.status, f.mu.inForce)
		f.deps.Logger.Error("overrides file cannot be used, the last good values stay in force", "path", f.opts.Path)
		return
	}
	for org := range doc.Bad {
		if good, ok := f.mu.inForce[org]; ok {
			doc.Good[org] = good
		}
	}
	f.deps.Target.Replace(doc.Good)
	f.mu.inForce, f.mu.status.Loaded = doc.Good, f.mu.status.Judged
	result := resultOK
	if len(doc.Faults) > 0 {
		result = resultFaults
	}
	f.metrics.judged(result, f.mu.status, f.mu.inForce)
	f.deps.Logger.Info("overrides are in force", "path", f.opts.Path, "orgs", len(doc.Good), "faults", len(doc.Faults))
}
