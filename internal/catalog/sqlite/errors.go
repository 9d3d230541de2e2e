package sqlite

import (
	"context"
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/millstream/millstream/internal/fault"
)

// asFault gives the driver's errors a kind. Errors that have one stay as they are.
func asFault(ctx context.Context, err error) error {
	if _, known := errors.AsType[*fault.Error](err); known {
		return err
	}
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("%w (%w)", cause, err)
	}
	var e *driver.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff { // the primary code
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_FULL, codes.SQLITE_IOERR, codes.SQLITE_CANTOPEN, codes.SQLITE_READONLY,
		codes.SQLITE_NOMEM, codes.SQLITE_INTERRUPT:
		return fault.Wrap(fault.Unavailable, err, "the catalog is not available")
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return fault.Wrap(fault.Corrupt, err, "the catalog's file is damaged")
	case codes.SQLITE_CONSTRAINT:
		return fault.Wrap(fault.Conflict, err, "the catalog holds another entry of this identity")
	default:
		return err
	}
}
