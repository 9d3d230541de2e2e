package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/cluster/internal/rules"
	"github.com/millstream/millstream/internal/pgtables"
)

// Limits that the server enforces. A DSN that sets a parameter keeps its own value.
const (
	statementTimeout = 5 * time.Second
	lockTimeout      = 2 * time.Second
	idleTimeout      = 5 * time.Second // of a transaction whose client hangs; there are none outside migrations
)

// maxConns is the size of the pool: a heartbeat, a look, and what the API asks for.
const maxConns = 4

// Options says where the tables are.
type Options struct {
	DSN         string        // URL or key=value list, as libpq reads it
	PeerTimeout time.Duration // as for cluster.Options
	Logger      *slog.Logger  // nil: discard
}

// Store implements cluster.Store and cluster.Leases.
type Store struct {
	pool   *pgxpool.Pool
	timing rules.Timing
}

var (
	_ cluster.Store  = (*Store)(nil)
	_ cluster.Leases = (*Store)(nil)
)

// Open connects and brings the tables to this program's version. It returns cluster.ErrSchema when they are of a newer one, and an
// error of kind Unavailable when the server cannot be reached. The caller closes the store.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.PeerTimeout <= 0 {
		return nil, fmt.Errorf("open cluster tables: the peer timeout %v is not positive", o.PeerTimeout)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	config, err := poolConfig(o)
	if err != nil {
		return nil, fmt.Errorf("open cluster tables: %w", err)
	}
	if err := migrate(ctx, config.ConnConfig, o.Logger); err != nil {
		return nil, asFault(ctx, "open tables", err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, asFault(ctx, "open tables", err)
	}
	return &Store{pool: pool, timing: rules.Timing{PeerTimeout: o.PeerTimeout}}, nil
}

func poolConfig(o Options) (*pgxpool.Config, error) {
	config, err := pgtables.PoolConfig(o.DSN, pgtables.Settings{
		Application: "millstream-cluster", StatementTimeout: statementTimeout, LockTimeout: lockTimeout, IdleTimeout: idleTimeout,
	})
	if err != nil {
		return nil, err
	}
	config.MaxConns = maxConns
	return config, nil
}

// Close closes the connections, after calls under way have returned theirs. Methods called later fail.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// exec runs a statement and returns how many rows it touched.
func (s *Store) exec(ctx context.Context, operation, statement string, args ...any) (int, error) {
	tag, err := s.pool.Exec(ctx, statement, args...)
	return int(tag.RowsAffected()), asFault(ctx, operation, err)
}

// list runs a query and scans its rows.
func list[T any](ctx context.Context, s *Store, scan pgx.RowToFunc[T], statement string, args ...any) ([]T, error) {
	rows, err := s.pool.Query(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// errTooOften ends a loop of compare and set that does not come to an end.
var errTooOften = errors.New("others were faster each time")
