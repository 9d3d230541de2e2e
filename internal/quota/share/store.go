package share

import (
	"context"
	"time"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/quota"
)

// ErrSchema is returned when the tables of shares are of another version than the one this program knows.
var ErrSchema = fault.New(fault.Internal, "the schema of the tables of shares is not the one this program knows")

// Frontend is one run of a process that takes writes.
type Frontend struct {
	ID          string
	Incarnation int64
}

// Report is what a frontend says of its use of a budget.
type Report struct {
	quota.Usage
	Load uint64 // offered a second (allocate.Load)
	New  bool   // there is no load to tell of yet
}

// Last is what a frontend reported last of a budget.
type Last struct {
	Limit, Quota, Debt uint64
	At                 time.Time // by the store's clock
}

// Store keeps reports and divisions. Every decision about age is made by its own clock. Methods may be called concurrently; each may be
// repeated after an error. Errors of a store that cannot be reached are of kind Unavailable.
type Store interface {
	// Now returns the store's time.
	Now(ctx context.Context) (time.Time, error)

	// Shares returns the shares of the frontend in the last divisions, and the store's time.
	Shares(ctx context.Context, f Frontend) (map[quota.Budget]quota.Share, time.Time, error)

	// Report writes reports in the place of the frontend's last ones and returns which of the budgets should be divided now: those whose
	// division is old, or has no share of this frontend.
	Report(ctx context.Context, f Frontend, reports []Report) (due []quota.Budget, err error)

	// Divide computes and writes the next division of each budget by allocate.Divide. A budget that another frontend is dividing at the
	// moment is left to it; those are returned.
	Divide(ctx context.Context, budgets map[quota.Budget]uint64) (busy []quota.Budget, err error)

	// Leave deletes reports and shares of the frontend, of all budgets when none are named.
	Leave(ctx context.Context, f Frontend, budgets ...quota.Budget) error

	// Last returns what other incarnations of the frontend reported last.
	Last(ctx context.Context, f Frontend) (map[quota.Budget]Last, time.Time, error)
}
