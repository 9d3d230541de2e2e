package fault

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind says what went wrong in the terms a client can act on. The zero Kind is Internal.
type Kind uint8

// The kinds, in the order of the status table in docs.
const (
	Internal        Kind = iota // a defect or an unexpected state; details only in the log
	Invalid                     // the request can never succeed as sent
	Unauthenticated             // nobody is known to be asking
	Forbidden                   // somebody known may not do this
	NotFound                    // the named thing does not exist
	Conflict                    // the named thing exists already, or changed meanwhile
	TooLarge                    // the payload exceeds a size that no retry will change
	Unsupported                 // a content type or encoding that is not read here
	Limited                     // over a rate; the same request passes later
	Unavailable                 // draining, fenced, out of memory or disk, a dependency away
	Canceled                    // the client left
	Deadline                    // the time limit of the request passed
	Corrupt                     // stored bytes are damaged; Internal to clients
)

// Error is an error with a kind. Message is safe to show to a client; Cause is for the log.
type Error struct {
	Kind    Kind
	Message string
	Cause   error
	// RetryAfter, when positive, is the wait that a client is told (Retry-After, RetryInfo).
	RetryAfter time.Duration
	// Reason, when set, is the reason with which the data that was refused is counted, as in the table of limits.
	Reason string
}

// Error implements error. It includes the cause, so it is for logs; clients get Message.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// New returns an error of kind k whose formatted message is safe to show to a client.
func New(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an error of kind k with cause err. The formatted message is safe to show to a client, the cause is not shown.
func Wrap(k Kind, err error, format string, args ...any) *Error {
	return &Error{Kind: k, Message: fmt.Sprintf(format, args...), Cause: err}
}

// After sets the wait that clients are told and returns e.
func (e *Error) After(d time.Duration) *Error {
	e.RetryAfter = d
	return e
}

// For sets the reason with which refused data is counted and returns e.
func (e *Error) For(reason string) *Error {
	e.Reason = reason
	return e
}

// Reason returns the reason with which refused data is counted, "" for none.
func Reason(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ""
}

// KindOf returns the kind of the outermost *Error in err's chain. A bare context error maps to Canceled or Deadline, any other
// error to Internal.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Deadline
	default:
		return Internal
	}
}

// Is reports whether err is of kind k. It is false for a nil error.
func Is(err error, k Kind) bool { return err != nil && KindOf(err) == k }

// Message returns the text that may be shown to a client: the messages of the outermost *Error, or a fixed text of the kind.
func Message(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Kind != Internal && e.Kind != Corrupt {
		return e.Message
	}
	switch KindOf(err) {
	case Canceled:
		return "the request was canceled"
	case Deadline:
		return "the time limit of the request passed"
	default:
		return "internal error; the log has the details under this request id"
	}
}

// RetryAfter returns the wait to tell a client, at least one second for kinds that are worth a retry, else 0.
func RetryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		return max(e.RetryAfter, time.Second)
	}
	if k := KindOf(err); k == Limited || k == Unavailable {
		return time.Second
	}
	return 0
}
