package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millstream/millstream/internal/fault"
)

// SQLSTATE codes that are branched on (PostgreSQL, appendix A).
const (
	uniqueViolation      = "23505"
	readOnlyTransaction  = "25006" // the pool is connected to a standby
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	lockNotAvailable     = "55P03" // lock_timeout passed
	queryCanceled        = "57014" // statement_timeout passed, or ours
	idleInTransaction    = "25P03"
)

// retryAfter is what clients are told while the server is away.
const retryAfter = 2 * time.Second

// isPassing reports whether an operation of which nothing was committed may succeed when tried again.
func isPassing(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == serializationFailure || e.Code == deadlockDetected || isShutdown(e.Code)
	}
	return isLost(err)
}

// isShutdown reports whether the server ended the session, or does not take one now.
func isShutdown(code string) bool {
	switch code {
	case "57P01", "57P02", "57P03", idleInTransaction: // admin_shutdown, crash_shutdown, cannot_connect_now
		return true
	default:
		return strings.HasPrefix(code, "08") // connection exceptions
	}
}

// isLost reports whether the connection failed rather than the statement.
func isLost(err error) bool {
	var (
		connect *pgconn.ConnectError
		network net.Error
	)
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgx.ErrTxClosed) || pgconn.SafeToRetry(err) || isClosedConn(err)
}

// isClosedConn recognises pgx's error for a connection found closed, which has no type.
func isClosedConn(err error) bool { return strings.Contains(err.Error(), "conn closed") }

// wasRefused reports whether the server itself said that it did not commit.
func wasRefused(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return !isShutdown(e.Code)
	}
	return errors.Is(err, pgx.ErrTxCommitRollback) || pgconn.SafeToRetry(err)
}

// asFault gives the driver's errors a kind. Errors that have one stay as they are.
func asFault(ctx context.Context, err error) error {
	if _, known := errors.AsType[*fault.Error](err); known {
		return err
	}
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if isLost(err) || errors.Is(err, context.DeadlineExceeded) { // the caller's context is not done, so it is operationLimit
			return unavailable(err)
		}
		return err
	}
	switch class := e.Code[:2]; {
	case e.Code == uniqueViolation:
		return fault.Wrap(fault.Conflict, err, "the catalog holds another entry of this identity")
	case class == "22": // data exceptions, such as text that the server's encoding cannot hold
		return fault.Wrap(fault.Invalid, err, "the catalog cannot store a value")
	case isPassing(err), class == "53", class == "58", e.Code == lockNotAvailable, e.Code == queryCanceled, e.Code == readOnlyTransaction:
		return unavailable(err) // 53: out of memory, disk, connections; 58: system errors
	default:
		return err
	}
}

func unavailable(err error) error {
	return fault.Wrap(fault.Unavailable, err, "the catalog is not available").After(retryAfter)
}
