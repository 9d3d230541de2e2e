package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/pgtables"
)

// Limits that the server enforces, as it is the server that holds the locks. A DSN that sets a parameter keeps its own value.
const (
	statementTimeout = 30 * time.Second
	lockTimeout      = 10 * time.Second // less than statementTimeout: a lock's holder is named in the server's log
	idleTimeout      = 30 * time.Second // of a transaction whose client hangs
)

// Options says where the catalog is.
type Options struct {
	DSN      string       // URL or key=value list, as libpq reads it
	MaxConns int32        // 0: the DSN's pool_max_conns, else 16
	Logger   *slog.Logger // nil: discard
}

// Catalog implements catalog.Catalog.
type Catalog struct {
	pool *pgxpool.Pool
	log  *slog.Logger
}

var _ catalog.Catalog = (*Catalog)(nil)

// Open connects and brings the tables to this program's version. It returns catalog.ErrSchema when they are of a newer one, and an
// error of kind Unavailable when the server cannot be reached. The caller closes the catalog.
func Open(ctx context.Context, o Options) (*Catalog, error) {
	c := &Catalog{log: o.Logger}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	config, err := poolConfig(o)
	if err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	if err := migrate(ctx, config.ConnConfig, c.log); err != nil {
		return nil, fmt.Errorf("open catalog: %w", asFault(ctx, err))
	}
	c.pool, err = pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open catalog: %w", asFault(ctx, err))
	}
	if err := c.Ping(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func poolConfig(o Options) (*pgxpool.Config, error) {
	config, err := pgtables.PoolConfig(o.DSN, pgtables.Settings{
		Application: "millstream", StatementTimeout: statementTimeout, LockTimeout: lockTimeout, IdleTimeout: idleTimeout,
	})
	if err != nil {
		return nil, err
	}
	config.MaxConns = max(config.MaxConns, 16)
	if o.MaxConns > 0 {
		config.MaxConns = o.MaxConns
	}
	return config, nil
}

// Close closes the connections, after calls under way have returned theirs. Methods called later fail.
func (c *Catalog) Close() error {
	c.pool.Close()
	return nil
}

// Ping implements catalog.Catalog.
func (c *Catalog) Ping(ctx context.Context) error {
	return c.read(ctx, "ping", func(ctx context.Context, db conn) error {
		var version int64
		if err := db.QueryRow(ctx, sqlSchemaVersion).Scan(&version); err != nil {
			return err
		}
		return schema().Check(version)
	})
}
