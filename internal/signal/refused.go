package signal

import (
	"fmt"
	"strings"

	"github.com/millstream/millstream/internal/fault"
)

// RefusedSamples is the error of a write whose batch is stored but for some samples, which can never be (decisions B8). A caller that
// knows it tells its client; for others it is fault.Invalid.
type RefusedSamples struct {
	Duplicate int // samples of a time that their series has another value at
	TooOld    int // samples before the window in which order does not matter
	NewStream int // rows of metrics that would be more than the org may have
	// FirstDuplicate, FirstTooOld and FirstNewStream say which was the first, in words for the sender; empty when there is none.
	FirstDuplicate, FirstTooOld, FirstNewStream string
}

// Rows returns how many samples were refused.
func (e *RefusedSamples) Rows() int { return e.Duplicate + e.TooOld + e.NewStream }

// Join adds the refusals of another batch.
func (e *RefusedSamples) Join(o *RefusedSamples) {
	if e.Duplicate == 0 {
		e.FirstDuplicate = o.FirstDuplicate
	}
	if e.TooOld == 0 {
		e.FirstTooOld = o.FirstTooOld
	}
	if e.NewStream == 0 {
		e.FirstNewStream = o.FirstNewStream
	}
	e.Duplicate, e.TooOld, e.NewStream = e.Duplicate+o.Duplicate, e.TooOld+o.TooOld, e.NewStream+o.NewStream
}

// Error implements error.
func (e *RefusedSamples) Error() string {
	var parts []string
	if e.Duplicate > 0 {
		parts = append(parts, fmt.Sprintf("%d duplicates like: %s", e.Duplicate, e.FirstDuplicate))
	}
	if e.TooOld > 0 {
		parts = append(parts, fmt.Sprintf("%d too old like: %s", e.TooOld, e.FirstTooOld))
	}
	if e.NewStream > 0 {
		parts = append(parts, fmt.Sprintf("%d of new streams like: %s", e.NewStream, e.FirstNewStream))
	}
	return "samples refused: " + strings.Join(parts, "; ")
}

// Unwrap gives the error its kind.
func (e *RefusedSamples) Unwrap() error { return fault.New(fault.Invalid, "%s", e.Error()) }
