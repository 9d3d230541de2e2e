package promapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/prometheus/prometheus/promql"

	"github.com/millstream/millstream/internal/fault"
)

// errorKind is a type of errors as Prometheus names them, with the status that it gives them.
type errorKind struct {
	name   string
	status int
}

//nolint:gochecknoglobals // an immutable table
var (
	badData     = errorKind{"bad_data", http.StatusBadRequest}
	execution   = errorKind{"execution", http.StatusUnprocessableEntity}
	canceled    = errorKind{"canceled", fault.StatusClientClosed}
	timedOut    = errorKind{"timeout", http.StatusServiceUnavailable}
	internal    = errorKind{"internal", http.StatusInternalServerError}
	notFound    = errorKind{"not_found", http.StatusNotFound}
	unavailable = errorKind{"unavailable", http.StatusServiceUnavailable}
	// The kinds that Prometheus has no name for, since it knows neither users nor limits.
	unauthorized = errorKind{"unauthorized", http.StatusUnauthorized}
	forbidden    = errorKind{"forbidden", http.StatusForbidden}
	limited      = errorKind{"too_many_requests", http.StatusTooManyRequests}
)

// apiError is an error whose text is safe to show.
type apiError struct {
	kind errorKind
	err  error
}

// Error implements error.
func (e *apiError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *apiError) Unwrap() error { return e.err }

// classify returns the kind of an error and the text that a client may see. An error of ours hides what it does not want shown; one of the
// engine is shown as Prometheus shows it.
func classify(err error) (errorKind, string) {
	var own *apiError
	var f *fault.Error
	switch {
	case errors.As(err, &own) && !errors.As(err, &f):
		return own.kind, err.Error()
	case errors.As(err, &f):
		return kindOf(f.Kind), fault.Message(err)
	}
	var (
		byCaller promql.ErrQueryCanceled
		byTime   promql.ErrQueryTimeout
		storage  promql.ErrStorage
	)
	switch {
	case errors.As(err, &byCaller), errors.Is(err, context.Canceled):
		return canceled, err.Error()
	case errors.As(err, &byTime), errors.Is(err, context.DeadlineExceeded):
		return timedOut, err.Error()
	case errors.As(err, &storage):
		return internal, fault.Message(err)
	default:
		return execution, err.Error()
	}
}

func kindOf(k fault.Kind) errorKind {
	switch k {
	case fault.Invalid, fault.TooLarge, fault.Unsupported, fault.Conflict:
		return badData
	case fault.NotFound:
		return notFound
	case fault.Unauthenticated:
		return unauthorized
	case fault.Forbidden:
		return forbidden
	case fault.Limited:
		return limited
	case fault.Unavailable:
		return unavailable
	case fault.Canceled:
		return canceled
	case fault.Deadline:
		return timedOut
	default:
		return internal
	}
}
