package postgres

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// Setting returns a setting of a connection of the catalog.
func Setting(t *testing.T, c *Catalog, name string) (value string) {
	t.Helper()
	require.NoError(t, c.pool.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&value))
	return value
}

// RoundTrips counts what a catalog sends: statements of their own, and batches.
type RoundTrips struct {
	Statements, Batches atomic.Int64
}

// OpenCounted opens a catalog whose round trips are counted.
func OpenCounted(t *testing.T, dsn string) (*Catalog, *RoundTrips) {
	t.Helper()
	config, err := poolConfig(Options{DSN: dsn, MaxConns: 1})
	require.NoError(t, err)
	require.NoError(t, migrate(t.Context(), config.ConnConfig, slog.New(slog.DiscardHandler)))
	counts := &RoundTrips{}
	config.ConnConfig.Tracer = counts
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	c := &Catalog{pool: pool, log: slog.New(slog.DiscardHandler)}
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c, counts
}

// Reset starts the count anew.
func (r *RoundTrips) Reset() {
	r.Statements.Store(0)
	r.Batches.Store(0)
}

// TraceQueryStart implements pgx.QueryTracer.
func (r *RoundTrips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	r.Statements.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (r *RoundTrips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (r *RoundTrips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	r.Batches.Add(1)
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (r *RoundTrips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (r *RoundTrips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
