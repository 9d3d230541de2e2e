package overrides

import (
	"bytes"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/tenant"
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
	// Applied is told of what was put in force, one thing after the other; nil: nobody is. It must not wait.
	Applied func(Applied)
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
	now, err := read(f.opts.Path)
	if err != nil {
		return fault.Wrap(fault.Invalid, err, "overrides.file cannot be read: %v", err)
	}
	now.close()
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
	applied := compare(f.mu.inForce, doc.Good, f.mu.status.Loaded.IsZero())
	f.deps.Target.Replace(doc.Good)
	f.mu.inForce, f.mu.status.Loaded = doc.Good, f.mu.status.Judged
	result := resultOK
	if len(doc.Faults) > 0 {
		result = resultFaults
	}
	f.metrics.judged(result, f.mu.status, f.mu.inForce)
	f.deps.Logger.Info("overrides are in force", "path", f.opts.Path, "orgs", len(doc.Good), "faults", len(doc.Faults))
	if f.deps.Applied != nil && (applied.First || len(applied.Orgs) > 0) {
		f.deps.Applied(applied)
	}
}
