package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/quota/allocate"
)

// lockClass tells the locks of budgets from other advisory locks.
const lockClass = 0x71756f74 // "quot" as bytes

// Divide implements share.Store.
func (s *Store) Divide(ctx context.Context, budgets map[quota.Budget]uint64) (busy []quota.Budget, err error) {
	var keys keys
	for b := range budgets {
		keys.add(b)
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		locked := map[quota.Budget]bool{}
		err := each(ctx, tx, func(row pgx.Rows) error {
			b, err := scanBudget(row)
			locked[b] = true
			return err
		}, sqlLock, keys.kinds, keys.orgs, keys.names, int32(lockClass))
		if err != nil {
			return err
		}
		for b, limit := range budgets {
			if !locked[b] {
				busy = append(busy, b)
				continue
			}
			if err := s.divide(ctx, tx, b, limit); err != nil {
				return err
			}
		}
		return nil
	})
	return busy, asFault(ctx, "divide", err)
}

// divide makes the next division of a budget whose lock is held.
func (s *Store) divide(ctx context.Context, tx pgx.Tx, b quota.Budget, limit uint64) error {
	state, err := readState(ctx, tx, b)
	if err != nil {
		return err
	}
	state.Limit = uint64(signed(limit))
	d := allocate.Divide(state, s.timing)
	learn, changed := 0.0, 0
	if d.Learn {
		learn = s.timing.Expiry().Seconds()
	}
	if d.Changed {
		changed = 1
	}
	if _, err := tx.Exec(ctx, sqlDivided, b.Kind, b.Org, b.Database, signed(limit), changed, learn); err != nil {
		return err
	}
	if !d.Changed {
		return nil
	}
	return writeGrants(ctx, tx, b, d.Grants)
}

func readState(ctx context.Context, tx pgx.Tx, b quota.Budget) (s allocate.State, err error) {
	err = each(ctx, tx, func(row pgx.Rows) error {
		var (
			divided            int64
			age                float64
			id                 *string
			incarnation        *int64
			load, owed, amount *int64
			fresh              *bool
			reported           *float64
		)
		err := row.Scan(&divided, &age, &s.Learning, &id, &incarnation, &load, &fresh, &owed, &amount, &reported)
		if err != nil {
			return err
		}
		s.Divided, s.Age = uint64(divided), seconds(age)
		if id != nil {
			s.Reports = append(s.Reports, allocate.Report{
				Frontend: *id, Incarnation: *incarnation, Load: uint64(*load), New: *fresh, Debt: uint64(*owed), Quota: uint64(*amount),
				Age: seconds(*reported),
			})
		}
		return nil
	}, sqlState, b.Kind, b.Org, b.Database)
	if err != nil {
		return s, err
	}
	err = each(ctx, tx, func(row pgx.Rows) error {
		var (
			g      allocate.Grant
			amount int64
		)
		if err := row.Scan(&g.Frontend, &g.Incarnation, &amount); err != nil {
			return err
		}
		g.Quota = uint64(amount)
		s.Grants = append(s.Grants, g)
		return nil
	}, sqlGrants, b.Kind, b.Org, b.Database)
	return s, err
}

// writeGrants replaces the shares of a budget and forgets old reports.
func writeGrants(ctx context.Context, tx pgx.Tx, b quota.Budget, grants []allocate.Grant) error {
	ids, incarnations, amounts := []string{}, []int64{}, []int64{}
	for _, g := range grants {
		ids, incarnations, amounts = append(ids, g.Frontend), append(incarnations, g.Incarnation), append(amounts, signed(g.Quota))
	}
	for _, statement := range []string{sqlClear, sqlSweep} {
		if _, err := tx.Exec(ctx, statement, b.Kind, b.Org, b.Database); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, sqlGrant, b.Kind, b.Org, b.Database, ids, incarnations, amounts)
	return err
}

// seconds returns an age; a time that lies in the future, since the server's clock was set back, is none.
func seconds(age float64) time.Duration { return time.Duration(max(age, 0) * float64(time.Second)) }
