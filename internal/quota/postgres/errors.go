package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millstream/millstream/internal/fault"
)

// asFault says what was tried and gives the driver's errors a kind; nil stays nil. Everything is Unavailable but what the statement or its
// values are to blame for.
func asFault(ctx context.Context, operation string, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("shares, %s: %w (%w)", operation, cause, err)
	}
	if _, known := errors.AsType[*fault.Error](err); !known {
		err = withKind(err)
	}
	return fmt.Errorf("shares, %s: %w", operation, err)
}

func withKind(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code[:2] { // the class, PostgreSQL appendix A
		case "22", "23", "42": // data, constraints, syntax and access: a defect or a missing grant
			return err
		}
	}
	return fault.Wrap(fault.Unavailable, err, "the database of shares is not available")
}
