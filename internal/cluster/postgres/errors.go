package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millstream/millstream/internal/fault"
)

// retryAfter is what clients are told while the server is away.
const retryAfter = 2 * time.Second

// asFault says what was tried and gives the driver's errors a kind; nil stays nil. Everything is Unavailable but what the statement or
// its values are to blame for.
func asFault(ctx context.Context, operation string, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("cluster %s: %w (%w)", operation, cause, err)
	}
	if _, known := errors.AsType[*fault.Error](err); !known {
		err = withKind(err)
	}
	return fmt.Errorf("cluster %s: %w", operation, err)
}

func withKind(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code[:2] { // the class, PostgreSQL appendix A
		case "22": // data exceptions
			return fault.Wrap(fault.Invalid, err, "the catalog cannot store a value")
		case "23", "42": // constraints, syntax and access: a defect or a missing grant
			return err
		}
	}
	return fault.Wrap(fault.Unavailable, err, "the catalog is not available").After(retryAfter)
}
