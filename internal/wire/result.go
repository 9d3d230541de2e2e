package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/millstream/millstream/internal/limits"
)

// MaxErrors is how many rejections of a request are listed; all are counted.
const MaxErrors = 100

// Cause is the class of a rejection, for metrics.
type Cause uint8

// The causes.
const (
	Malformed         Cause = iota // not of the protocol's form
	BadValue                       // well formed, but a value that the row cannot do without is missing or wrong
	BadTime                        // the time field holds no time
	TooOld                         // before the oldest accepted time
	TooNew                         // after the newest accepted time
	LineTooLong                    // above Options.MaxLineBytes
	BadLabels                      // of Loki and Prometheus: the label set is not valid
	DuplicateSample                // of Prometheus: the series has another value at that time
	OutOfOrder                     // of Prometheus: long before the newest sample of the series
	TooManyLabels                  // above Options.MaxLabels
	LabelNameTooLong               // above Options.MaxLabelName
	LabelValueTooLong              // above Options.MaxLabelValue
	StreamLimit                    // the row's stream would be one more than the org may have
	causeCount
)

// Causes returns all causes.
func Causes() []Cause {
	out := make([]Cause, causeCount)
	for i := range out {
		out[i] = Cause(i)
	}
	return out
}

// String returns the name used as a metric's label, Loki's where Loki has one.
func (c Cause) String() string {
	switch c {
	case Malformed:
		return "malformed"
	case BadValue:
		return "bad_value"
	case BadTime:
		return "bad_time"
	case TooOld:
		return limits.GreaterThanMaxAge
	case TooNew:
		return limits.TooFarInFuture
	case LineTooLong:
		return limits.LineTooLong
	case BadLabels:
		return "invalid_labels"
	case DuplicateSample:
		return "duplicate_sample"
	case OutOfOrder:
		return "sample_out_of_order"
	case TooManyLabels:
		return limits.TooManyLabelNames
	case LabelNameTooLong:
		return limits.LabelNameTooLong
	case LabelValueTooLong:
		return limits.LabelValueTooLong
	case StreamLimit:
		return limits.StreamLimit
	default:
		return fmt.Sprintf("cause(%d)", uint8(c))
	}
}

// Rejection is why a row was refused. Its text is safe to show to the sender and never holds a value of the row longer than a
// few words.
type Rejection struct {
	Cause  Cause
	Reason string
}

// Reject returns a Rejection.
func Reject(c Cause, format string, args ...any) *Rejection {
	return &Rejection{Cause: c, Reason: fmt.Sprintf(format, args...)}
}

// Error implements error.
func (r *Rejection) Error() string { return r.Reason }

// RowError is a refused row.
type RowError struct {
	Index  int    `json:"index"` // place among the rows of the request, from 0
	Reason string `json:"reason"`
}

// Result tells what became of a request's rows.
type Result struct {
	// Accepted counts rows that an Emit took without error.
	Accepted int
	// Rejected counts refused rows.
	Rejected int
	// Settled counts the leading rows that are certainly accepted or refused. After success it is Accepted + Rejected; after an
	// error the rows from this index on were not stored.
	Settled int
	// Errors lists the first MaxErrors refused rows, by rising index.
	Errors []RowError
	// Causes counts refused rows by Cause.
	Causes [causeCount]int
	// FirstOf holds the reason of the first refused row of each Cause.
	FirstOf [causeCount]string
	// Later lists the refusals of rows that Errors does not have, since the store made them, without the rows' places.
	Later []LaterRefusal
	// LongestBytes is the size of the longest row that was refused as LineTooLong, 0 if none was.
	LongestBytes int64
}

// Reject counts the row at index as refused with err, a *Rejection; another error counts as Malformed.
func (r *Result) Reject(index int, err error) {
	cause := Malformed
	if rejection, ok := errors.AsType[*Rejection](err); ok {
		cause = rejection.Cause
	}
	r.Rejected++
	r.Causes[cause]++
	if r.Causes[cause] == 1 {
		r.FirstOf[cause] = err.Error()
	}
	if len(r.Errors) < MaxErrors {
		r.Errors = append(r.Errors, RowError{Index: index, Reason: err.Error()})
	}
}

// Summary tells the refused rows in a line per cause, "3 errors like: …", for protocols whose answer is plain text. It is empty
// when no row was refused.
func (r *Result) Summary() string {
	var lines []string
	for c, n := range r.Causes {
		switch {
		case n == 1:
			lines = append(lines, r.FirstOf[c])
		case n > 1:
			lines = append(lines, fmt.Sprintf("%d errors like: %s", n, r.FirstOf[c]))
		}
	}
	return strings.Join(lines, "\n")
}

// LaterRefusal is rows that were refused by the store for one cause, of which the first has the reason.
type LaterRefusal struct {
	Rows   int
	Reason string
}

// Refuse counts rows as refused that were taken for accepted until the store was asked, of which the first has the reason.
func (r *Result) Refuse(cause Cause, rows int, reason string) {
	if rows == 0 {
		return
	}
	if r.Causes[cause] == 0 {
		r.FirstOf[cause] = reason
	}
	r.Later = append(r.Later, LaterRefusal{rows, reason})
	r.Accepted -= rows
	r.Rejected += rows
	r.Causes[cause] += rows
}

// RejectLong counts the row at index as refused because it has size bytes, above limit. where names the row for the reader.
func (r *Result) RejectLong(index int, where string, size int64, limit int) {
	r.LongestBytes = max(r.LongestBytes, size)
	r.Reject(index, Reject(LineTooLong, "%s has %d bytes, the limit is %d (max_line_size)", where, size, limit))
}

// At puts a place in front of a rejection's reason; an error that is none becomes one.
func At(err error, format string, args ...any) error {
	cause := Malformed
	if rejection, ok := errors.AsType[*Rejection](err); ok {
		cause = rejection.Cause
	}
	return Reject(cause, "%s: %s", fmt.Sprintf(format, args...), err.Error())
}
