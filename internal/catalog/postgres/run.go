package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/millstream/millstream/internal/fault"
)

const (
	attempts       = 6                      // of one operation
	firstPause     = 10 * time.Millisecond  // between attempts, doubled each time, with jitter
	operationLimit = 60 * time.Second       // all attempts together; against a network that swallows packets
	slow           = 500 * time.Millisecond // an operation that takes longer is logged
	rollbackLimit  = 5 * time.Second
)

// conn is the pool or a transaction.
type conn interface {
	Exec(ctx context.Context, statement string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, statement string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, statement string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// read runs do outside a transaction. do may run several times and changes nothing.
func (c *Catalog) read(ctx context.Context, operation string, do func(ctx context.Context, db conn) error) error {
	return c.retry(ctx, operation, func(ctx context.Context) (unknown bool, err error) {
		return false, do(ctx, c.pool)
	})
}

// snapshot runs do in a transaction that sees the database as of one moment. do may run several times and changes nothing.
func (c *Catalog) snapshot(ctx context.Context, operation string, do func(ctx context.Context, db conn) error) error {
	return c.retry(ctx, operation, func(ctx context.Context) (unknown bool, err error) {
		_, err = c.inTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, do)
		return false, err
	})
}

// write runs do in a transaction. do may run several times, in a new transaction each, and sets its results anew each time.
func (c *Catalog) write(ctx context.Context, operation string, do func(ctx context.Context, db conn) error) error {
	return c.retry(ctx, operation, func(ctx context.Context) (unknown bool, err error) {
		return c.inTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, do)
	})
}

// inTx runs one transaction. unknown is set when it is not known whether it was committed.
func (c *Catalog) inTx(ctx context.Context, o pgx.TxOptions, do func(ctx context.Context, db conn) error) (unknown bool, err error) {
	tx, err := c.pool.BeginTx(ctx, o)
	if err != nil {
		return false, fmt.Errorf("begin: %w", err)
	}
	if err := do(ctx, tx); err != nil {
		// The connection goes back to the pool clean even when the caller has left.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackLimit)
		defer cancel()
		if back := tx.Rollback(ctx); back != nil && !isLost(back) {
			return false, errors.Join(err, fmt.Errorf("roll back: %w", back))
		}
		return false, err
	}
	if err := tx.Commit(ctx); err != nil {
		return !wasRefused(err), fmt.Errorf("commit: %w", err)
	}
	return false, nil
}

// retry runs an operation until it succeeds or fails for a reason that does not pass, gives its error a kind and logs what an
// operator should see.
func (c *Catalog) retry(ctx context.Context, operation string, run func(ctx context.Context) (unknown bool, err error)) error {
	start := time.Now() //nolint:forbidigo // measured, nothing is decided by it
	limited, cancel := context.WithTimeout(ctx, operationLimit)
	defer cancel()
	pause := firstPause
	for attempt := 1; ; attempt++ {
		unknown, err := run(limited)
		if err != nil && !unknown && attempt < attempts && isPassing(err) && limited.Err() == nil {
			c.log.DebugContext(ctx, "catalog operation tried again", "operation", operation, "attempt", attempt, "error", err)
			if sleep(limited, pause/2+rand.N(pause)) == nil {
				pause *= 2
				continue
			}
		}
		if unknown {
			err = fault.Wrap(fault.Unavailable, err, "the connection to the catalog was lost; the outcome is unknown").After(time.Second)
		}
		return c.report(ctx, operation, time.Since(start), err) //nolint:forbidigo // measured, nothing is decided by it
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d) //nolint:forbidigo // a pause; nothing is decided by it
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (c *Catalog) report(ctx context.Context, operation string, took time.Duration, err error) error {
	if err == nil {
		if took > slow {
			c.log.WarnContext(ctx, "slow catalog operation", "operation", operation, "duration", took)
		}
		return nil
	}
	err = fmt.Errorf("catalog %s: %w", operation, asFault(ctx, err))
	switch fault.KindOf(err) {
	case fault.Internal, fault.Unavailable, fault.Corrupt:
		c.log.WarnContext(ctx, "catalog operation failed", "operation", operation, "duration", took, "error", err)
	default:
	}
	return err
}
