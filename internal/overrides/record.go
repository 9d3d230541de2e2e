package overrides

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"

	"github.com/millstream/millstream/internal/catalog"
)

// What stands in the audit log about an overrides file.
const (
	recordActor  = "file"
	recordObject = "overrides file"  // no database and no token has such a name
	actionApply  = "overrides.apply" // what was in force was replaced
	actionLoad   = "overrides.load"  // a process started with something else in force than the log says
)

// maxRecords is how many changes wait for the audit log.
const maxRecords = 64

// Journal is the audit log: auth.Audit.
type Journal interface {
	// Last returns the newest record about an object, the zero Change when there is none.
	Last(ctx context.Context, object string) (catalog.Change, error)
	// RecordOnce records a change unless the same is recorded under an id above after, and returns the id of its record; after when the
	// log cannot be asked.
	RecordOnce(ctx context.Context, c catalog.Change, after int64) (id int64)
}

// Recorder tells the audit log what was put in force, once for all processes that follow the same file.
//
// Every process tells of every change, in the order in which it made them. What it tells is the same text in all of them, and the log takes
// a text for a repetition only when it was recorded after the last record that this process has told or found told: so a file that is
// changed there and back and there again makes three records, however many processes follow it and however far behind one of them is.
type Recorder struct {
	journal Journal
	logger  *slog.Logger
	queue   chan Applied

	known bool // whether last and found are the log's
	last  int64
	found string // the detail of the newest record when the process started
}

// NewRecorder returns a Recorder. A nil logger discards.
func NewRecorder(j Journal, logger *slog.Logger) *Recorder {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Recorder{journal: j, logger: logger, queue: make(chan Applied, maxRecords)}
}

// Start looks up where the log ends. It is to be called before the file is loaded, so that no change lies between.
func (r *Recorder) Start(ctx context.Context) {
	last, err := r.journal.Last(ctx, recordObject)
	if err != nil {
		r.logger.WarnContext(ctx, "audit log cannot be asked, a change of the overrides file may stand in it twice", "error", err)
		return
	}
	r.known, r.last, r.found = true, last.ID, last.Detail
}

// Applied implements Deps.Applied.
func (r *Recorder) Applied(a Applied) {
	select {
	case r.queue <- a:
	default:
		r.logger.Error("audit: the record is in this log alone", "action", actionApply, "object", recordObject, "detail", a.detail())
	}
}

// Run records until ctx ends, and then what is left.
func (r *Recorder) Run(ctx context.Context) {
	for {
		select {
		case a := <-r.queue:
			r.record(ctx, a)
		case <-ctx.Done():
			for {
				select {
				case a := <-r.queue:
					r.record(ctx, a)
				default:
					return
				}
			}
		}
	}
}

func (r *Recorder) record(ctx context.Context, a Applied) {
	if !r.known {
		r.last = math.MaxInt64 // rather twice than never
	}
	c := catalog.Change{Actor: recordActor, Action: actionApply, Object: recordObject, Detail: a.detail()}
	if len(a.Orgs) == 1 {
		c.Org = string(a.Orgs[0].Org)
	}
	if a.First {
		if strings.HasPrefix(r.found, a.now()) {
			return
		}
		c.Action = actionLoad
	}
	id := r.journal.RecordOnce(ctx, c, r.last)
	r.known, r.last = id != math.MaxInt64, id
}

// now begins the text of every record: what is in force afterwards.
func (a Applied) now() string { return "now " + a.After }

// detail is the text of the record.
func (a Applied) detail() string {
	var b strings.Builder
	b.WriteString(a.now())
	if a.First {
		fmt.Fprintf(&b, " (%d orgs have overrides)", a.Count)
		return b.String()
	}
	fmt.Fprintf(&b, ", was %s", a.Before)
	for _, o := range a.Orgs {
		fmt.Fprintf(&b, "; %s: %s", o.Org, o.Text)
	}
	return b.String()
}
