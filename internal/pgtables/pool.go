package pgtables

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connectTimeout bounds the wait for a connection when the DSN sets none.
const connectTimeout = 5 * time.Second

// Settings are of a pool's connections. A DSN that sets a parameter keeps its own value.
type Settings struct {
	Application      string        // shown by the server as the name of the connection
	StatementTimeout time.Duration // of one statement
	LockTimeout      time.Duration // less than StatementTimeout, so that a lock's holder is named in the server's log
	IdleTimeout      time.Duration // of a transaction whose client hangs
}

// PoolConfig reads a DSN (a URL or a key=value list, as libpq reads it) and applies the settings.
func PoolConfig(dsn string, s Settings) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("read the DSN: %w", err) // pgx leaves the password out
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	for name, value := range map[string]string{
		"application_name":                    s.Application,
		"statement_timeout":                   milliseconds(s.StatementTimeout),
		"lock_timeout":                        milliseconds(s.LockTimeout),
		"idle_in_transaction_session_timeout": milliseconds(s.IdleTimeout),
	} {
		if _, set := config.ConnConfig.RuntimeParams[name]; !set {
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	config.AfterConnect = durable
	return config, nil
}

// durable makes commits wait for the disk where the server's default is that they do not.
func durable(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
	return err
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }
