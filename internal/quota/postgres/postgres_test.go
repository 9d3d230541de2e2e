package postgres_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/quota/postgres"
	"github.com/millstream/millstream/internal/quota/share"
	"github.com/millstream/millstream/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Shared{Tests: m}) }

func open(t *testing.T, dsn string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

var (
	rows  = quota.Budget{Kind: quota.KindRows, Org: "o'rg", Database: `d"b`}
	bytes = quota.Budget{Kind: quota.KindBytes, Org: "o'rg"}
	a     = share.Frontend{ID: "a", Incarnation: 1}
	b     = share.Frontend{ID: "b", Incarnation: 2}
)

func report(budget quota.Budget, limit, load uint64) share.Report {
	return share.Report{Usage: quota.Usage{Budget: budget, Limit: limit}, Load: load}
}

func shares(t *testing.T, s *postgres.Store, f share.Frontend) map[quota.Budget]quota.Share {
	t.Helper()
	out, now, err := s.Shares(t.Context(), f)
	require.NoError(t, err)
	require.False(t, now.IsZero())
	return out
}

// TestDivisions reports and divides two budgets among two frontends.
func TestDivisions(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.DSN(t))
	ctx := t.Context()
	require.Empty(t, shares(t, s, a))
	due, err := s.Report(ctx, a, []share.Report{report(rows, 1000, 1500), report(bytes, math.MaxUint64, 10)})
	require.NoError(t, err)
	require.ElementsMatch(t, []quota.Budget{rows, bytes}, due)
	busy, err := s.Divide(ctx, map[quota.Budget]uint64{rows: 1000, bytes: math.MaxUint64})
	require.NoError(t, err)
	require.Empty(t, busy)
	require.Equal(t, map[quota.Budget]quota.Share{
		rows: {Epoch: 1, Quota: 1000, Limit: 1000}, bytes: {Epoch: 1, Quota: math.MaxInt64, Limit: math.MaxInt64},
	}, shares(t, s, a))

	due, err = s.Report(ctx, a, []share.Report{report(rows, 1000, 1500)})
	require.NoError(t, err)
	require.Empty(t, due, "it was divided just now")
	due, err = s.Report(ctx, b, []share.Report{report(rows, 1000, 300)})
	require.NoError(t, err)
	require.Equal(t, []quota.Budget{rows}, due, "a newcomer does not wait")
	_, err = s.Divide(ctx, map[quota.Budget]uint64{rows: 1000})
	require.NoError(t, err)
	require.Equal(t, map[quota.Budget]quota.Share{rows: {Epoch: 2, Quota: 330, Limit: 1000}}, shares(t, s, b))
	require.EqualValues(t, 670, shares(t, s, a)[rows].Quota)
	_, err = s.Divide(ctx, map[quota.Budget]uint64{rows: 1000})
	require.NoError(t, err)
	require.EqualValues(t, 2, shares(t, s, a)[rows].Epoch, "nothing moved")

	require.NoError(t, s.Leave(ctx, b, bytes))
	require.NotEmpty(t, shares(t, s, b))
	require.NoError(t, s.Leave(ctx, b))
	require.Empty(t, shares(t, s, b))
	_, err = s.Divide(ctx, map[quota.Budget]uint64{rows: 1000})
	require.NoError(t, err)
	require.EqualValues(t, 1000, shares(t, s, a)[rows].Quota)
}

// TestIncarnations: a later run of the same id is a newcomer, and may read what it owes.
func TestIncarnations(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.DSN(t))
	ctx := t.Context()
	owing := report(rows, 1000, 1500)
	owing.Debt, owing.Quota = 5000, 250
	_, err := s.Report(ctx, a, []share.Report{owing})
	require.NoError(t, err)
	_, err = s.Divide(ctx, map[quota.Budget]uint64{rows: 1000})
	require.NoError(t, err)

	later := share.Frontend{ID: "a", Incarnation: 9}
	require.Empty(t, shares(t, s, later))
	last, now, err := s.Last(ctx, later)
	require.NoError(t, err)
	require.Len(t, last, 1)
	require.WithinDuration(t, now, last[rows].At, time.Minute)
	got := last[rows]
	got.At = time.Time{}
	require.Equal(t, share.Last{Limit: 1000, Quota: 250, Debt: 5000}, got)
	last, _, err = s.Last(ctx, a)
	require.NoError(t, err)
	require.Empty(t, last, "its own report is not another's")

	due, err := s.Report(ctx, later, []share.Report{report(rows, 1000, 1500)})
	require.NoError(t, err)
	require.Equal(t, []quota.Budget{rows}, due)
	_, err = s.Divide(ctx, map[quota.Budget]uint64{rows: 1000})
	require.NoError(t, err)
	require.Empty(t, shares(t, s, a))
	require.EqualValues(t, 1000, shares(t, s, later)[rows].Quota)
	require.NoError(t, s.Leave(ctx, a), "the old run takes nothing of the new one")
	require.NotEmpty(t, shares(t, s, later))
}

// TestOneDividesAtATime holds a budget's lock as another frontend would.
func TestOneDividesAtATime(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	s := open(t, dsn)
	_, err := s.Report(t.Context(), a, []share.Report{report(rows, 1000, 1)})
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock($1, hashtext($2))", 0x71756f74, `rows/o'rg/d"b`)
	require.NoError(t, err)
	busy, err := s.Divide(t.Context(), map[quota.Budget]uint64{rows: 1000, bytes: 5})
	require.NoError(t, err)
	require.Equal(t, []quota.Budget{rows}, busy, "the other budget is divided")
	require.NoError(t, tx.Rollback(t.Context()))
	busy, err = s.Divide(t.Context(), map[quota.Budget]uint64{rows: 1000})
	require.NoError(t, err)
	require.Empty(t, busy)
}

// TestManyAtOnce lets keepers of many frontends beat at once: nobody fails, and the last division holds all of them.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	const n = 5
	database := quota.Database{Org: "acme", Name: "logs"}
	keepers := make([]*share.Keeper, n)
	buckets := make([]*quota.Rows, n)
	for i := range keepers {
		buckets[i] = quota.NewRows(quota.RowsOptions{Clock: clock.System{}, Limit: func(quota.Database) quota.RowLimit {
			return quota.RowLimit{PerSecond: 1000}
		}})
		keepers[i] = share.New(share.Options{
			Self: share.Frontend{ID: fmt.Sprint("r", i), Incarnation: int64(i) + 1}, Clock: clock.System{},
		}, open(t, dsn), buckets[i])
	}
	var wg sync.WaitGroup
	for i := range keepers {
		wg.Go(func() {
			for range 10 {
				_ = buckets[i].Admit(t.Context(), quota.Charge{Database: database, Rows: 10})
				keepers[i].Wanted(quota.Budget{Kind: quota.KindRows, Org: database.Org, Database: database.Name})
				if err := keepers[i].Beat(t.Context()); err != nil {
					t.Errorf("keeper %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	sum := uint64(0)
	for i := range keepers {
		require.NoError(t, keepers[i].Beat(t.Context()))
		u := buckets[i].Usage()
		require.Positive(t, u[0].Epoch)
		sum += u[0].Quota
	}
	require.LessOrEqual(t, sum, uint64(1000))
	require.GreaterOrEqual(t, sum, uint64(900))
	for _, k := range keepers {
		require.NoError(t, k.Leave(t.Context()))
		require.NoError(t, k.Beat(t.Context()), "after it has left it does nothing")
	}
	left, _, err := open(t, dsn).Last(t.Context(), share.Frontend{ID: "r1"})
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestOpenWithoutAServer(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), postgres.Options{DSN: "postgres://x@127.0.0.1:1/x?connect_timeout=1"})
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
}
