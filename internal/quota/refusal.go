package quota

import (
	"time"

	"github.com/millstream/millstream/internal/fault"
)

// CodeRateLimited is GreptimeDB's number of a refusal by a database's row limit.
const CodeRateLimited = 6001

// RowsRefused is a request that a database's row limit refused. It is a fault.Limited that may be sent again as it is.
type RowsRefused struct {
	Database string
	Rows     int64         // of the request, all refused
	Quota    uint64        // rows a second that this frontend may take now
	Limit    uint64        // rows a second of the database in all
	Wait     time.Duration // until the same request passes if nothing else is taken, exact
	fault    *fault.Error
}

func newRowsRefused(c Charge, quota, limit uint64, wait, delay time.Duration) *RowsRefused {
	// Clients drop data rather than wait for long, so what they are told as a delay is bounded; the text tells the truth.
	return &RowsRefused{
		Database: c.Name, Rows: c.Rows, Quota: quota, Limit: limit, Wait: wait,
		fault: fault.New(fault.Limited, "database %q: %d rows refused, quota %d rows/s, limit %d rows/s (ingest_rows_rate_limit), retry in %s",
			c.Name, c.Rows, quota, limit, roundUp(wait)).After(min(delay, MaxRetryAfter)),
	}
}

// Error implements error.
func (e *RowsRefused) Error() string { return e.fault.Error() }

// Unwrap returns the fault, so that the kind, the text and the delay are found.
func (e *RowsRefused) Unwrap() error { return e.fault }

// StatusCode is CodeRateLimited.
func (e *RowsRefused) StatusCode() int { return CodeRateLimited }

// roundUp rounds a wait to milliseconds, up, so that who waits so long passes.
func roundUp(d time.Duration) time.Duration {
	if r := d % time.Millisecond; r > 0 && d < 1<<62 {
		return d - r + time.Millisecond
	}
	return d
}
