package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millstream/millstream/internal/pgtables"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/quota/allocate"
	"github.com/millstream/millstream/internal/quota/share"
	"github.com/millstream/millstream/internal/tenant"
)

// Limits that the server enforces. A DSN that sets a parameter keeps its own value.
const (
	statementTimeout = 2 * time.Second
	lockTimeout      = time.Second
	idleTimeout      = 2 * time.Second // of a transaction whose client hangs; it holds the locks of budgets
)

// maxConns is the size of the pool: heartbeats take turns.
const maxConns = 2

// Options says where the tables are.
type Options struct {
	DSN    string // URL or key=value list, as libpq reads it
	Timing allocate.Timing
	Logger *slog.Logger // nil: discard
}

// Store implements share.Store.
type Store struct {
	pool   *pgxpool.Pool
	timing allocate.Timing
}

var _ share.Store = (*Store)(nil)

// Open connects and brings the tables to this program's version. It returns share.ErrSchema when they are of a newer one, and an error of
// kind Unavailable when the server cannot be reached. The caller closes the store.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	config, err := pgtables.PoolConfig(o.DSN, pgtables.Settings{
		Application: "millstream-quota", StatementTimeout: statementTimeout, LockTimeout: lockTimeout, IdleTimeout: idleTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("open tables of shares: %w", err)
	}
	config.MaxConns = maxConns
	if err := migrate(ctx, config.ConnConfig, o.Logger); err != nil {
		return nil, asFault(ctx, "open tables", err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, asFault(ctx, "open tables", err)
	}
	return &Store{pool: pool, timing: o.Timing}, nil
}

// Close closes the connections, after calls under way have returned theirs. Methods called later fail.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// Now implements share.Store.
func (s *Store) Now(ctx context.Context) (now time.Time, err error) {
	err = s.pool.QueryRow(ctx, sqlNow).Scan(&now)
	return now.UTC(), asFault(ctx, "read the time", err)
}

// Shares implements share.Store.
func (s *Store) Shares(ctx context.Context, f share.Frontend) (map[quota.Budget]quota.Share, time.Time, error) {
	out := map[quota.Budget]quota.Share{}
	var now time.Time
	err := each(ctx, s.pool, func(row pgx.Rows) error {
		var (
			key                    nullBudget
			epoch, amount, divided *int64
		)
		if err := row.Scan(&now, &key.kind, &key.org, &key.name, &epoch, &amount, &divided); err != nil || key.kind == nil {
			return err
		}
		out[key.budget()] = quota.Share{Epoch: *epoch, Quota: uint64(*amount), Limit: uint64(*divided)}
		return nil
	}, sqlShares, f.ID, f.Incarnation)
	return out, now.UTC(), asFault(ctx, "read shares", err)
}

// Report implements share.Store.
func (s *Store) Report(ctx context.Context, f share.Frontend, reports []share.Report) (due []quota.Budget, err error) {
	var (
		keys                                                   keys
		accepted, refused, load, debts, limits, quotas, epochs []int64
		fresh                                                  []bool
	)
	for _, r := range reports {
		keys.add(r.Budget)
		accepted, refused = append(accepted, signed(r.Accepted)), append(refused, signed(r.Refused))
		load, fresh, debts = append(load, signed(r.Load)), append(fresh, r.New), append(debts, signed(r.Debt))
		limits, quotas, epochs = append(limits, signed(r.Limit)), append(quotas, signed(r.Quota)), append(epochs, r.Epoch)
	}
	err = each(ctx, s.pool, func(row pgx.Rows) error {
		b, err := scanBudget(row)
		due = append(due, b)
		return err
	}, sqlReport, f.ID, f.Incarnation, keys.kinds, keys.orgs, keys.names, accepted, refused, load, fresh, debts, limits, quotas, epochs,
		s.timing.Due().Seconds())
	return due, asFault(ctx, "report", err)
}

// Leave implements share.Store.
func (s *Store) Leave(ctx context.Context, f share.Frontend, budgets ...quota.Budget) error {
	keys := keys{kinds: []string{}, orgs: []string{}, names: []string{}}
	for _, b := range budgets {
		keys.add(b)
	}
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		for _, statement := range []string{sqlLeaveReports, sqlLeaveGrants} {
			if _, err := tx.Exec(ctx, statement, f.ID, f.Incarnation, keys.kinds, keys.orgs, keys.names); err != nil {
				return err
			}
		}
		return nil
	})
	return asFault(ctx, "leave", err)
}

// Last implements share.Store.
func (s *Store) Last(ctx context.Context, f share.Frontend) (map[quota.Budget]share.Last, time.Time, error) {
	out := map[quota.Budget]share.Last{}
	var now time.Time
	err := each(ctx, s.pool, func(row pgx.Rows) error {
		var (
			key                 nullBudget
			limit, amount, owed *int64
			at                  *time.Time
		)
		if err := row.Scan(&now, &key.kind, &key.org, &key.name, &limit, &amount, &owed, &at); err != nil || key.kind == nil {
			return err
		}
		last := share.Last{Limit: uint64(*limit), Quota: uint64(*amount), Debt: uint64(*owed), At: at.UTC()}
		if last.Quota == 0 {
			last.Quota = last.Limit
		}
		out[key.budget()] = last
		return nil
	}, sqlLast, f.ID, f.Incarnation)
	return out, now.UTC(), asFault(ctx, "read last reports", err)
}

// queryer is a pool or a transaction.
type queryer interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// each calls do for each row of a statement's answer.
func each(ctx context.Context, q queryer, do func(row pgx.Rows) error, statement string, args ...any) error {
	rows, err := q.Query(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// keys are budgets as columns.
type keys struct{ kinds, orgs, names []string }

func (k *keys) add(b quota.Budget) {
	k.kinds, k.orgs, k.names = append(k.kinds, string(b.Kind)), append(k.orgs, string(b.Org)), append(k.names, b.Database)
}

// nullBudget is the key of a row, or nulls where there is none.
type nullBudget struct{ kind, org, name *string }

func (n nullBudget) budget() quota.Budget {
	return quota.Budget{Kind: quota.Kind(*n.kind), Org: tenant.ID(*n.org), Database: *n.name}
}

func scanBudget(row pgx.Rows) (b quota.Budget, err error) {
	err = row.Scan((*string)(&b.Kind), (*string)(&b.Org), &b.Database)
	return b, err
}

// signed returns n as the server stores it: what is greater than it can is as good as the greatest.
func signed(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
