package answer

import (
	"context"
	"io"
	"time"

	"github.com/millstream/millstream/internal/tenant"
)

// Question is one statement of one org or of several, as a front has read and checked it.
type Question struct {
	Org   tenant.ID   // the one that is asked, the first of Orgs
	Orgs  []tenant.ID // when several are asked: all of them, sorted; else empty
	Actor string      // who asks, for logs and for sharing an org's queries fairly; empty = nobody is known
	// ActorPath says below Actor who asks, the outermost level first, as the client has it (X-Loki-Actor-Path).
	ActorPath []string
	Database  string // that unqualified names mean
	Language  string // empty is SQL; promapi.Language
	Statement string
	// Start (inclusive) and End (exclusive) bound the event time of the rows that the statement sees; zero = open.
	Start, End time.Time
	// Now is the time that the statement takes for the present; zero = that of the node that answers.
	Now    time.Time `json:",omitzero"`
	Step   string    // of PromQL: the distance of evaluations in seconds or as a duration; empty = one evaluation
	Limit  int       // most rows of the answer, 0 = none
	Change bool      // allows statements that change something: CREATE, ALTER
	Admin  bool      // allows statements that destroy (decisions E7)
}

// Members returns every org that is asked. The caller must not change the list.
func (q *Question) Members() []tenant.ID {
	if len(q.Orgs) > 0 {
		return q.Orgs
	}
	return []tenant.ID{q.Org}
}

// Result is a running statement. It is used by one goroutine. Close ends it and is called exactly once.
type Result interface {
	Source
	// Meta returns statistics and warnings as known so far.
	Meta() Meta
	io.Closer
}

// Answerer answers statements: the querier of this process, or a router that hands them on.
type Answerer interface {
	// Ask starts q. The work ends when ctx does, during Ask and during each call of the result's Next under the context of that call.
	Ask(ctx context.Context, q Question) (Result, error)
}
