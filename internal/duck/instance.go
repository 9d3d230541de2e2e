package duck

import (
	"context"
	"strings"
	"sync"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/millstream/millstream/internal/tenant"
)

// Instance is a DuckDB database that one statement of one org has to itself. It is used by one goroutine at a time and must be
// released; a second Release does nothing.
type Instance struct {
	pool   *Pool
	org    tenant.ID
	engine *engine
	rows   *Rows // open, or nil
	used   bool  // between Acquire and Release

	stop struct {
		sync.Mutex
		cancel context.CancelCauseFunc // of the call under way, or nil
		closed bool                    // the pool is closing
	}
}

// Org returns the org whose files the instance may read.
func (i *Instance) Org() tenant.ID { return i.org }

// MemoryLimit returns the instance's memory limit in bytes.
func (i *Instance) MemoryLimit() int64 { return i.engine.settings.memoryBytes }

// begin derives the context of one call into the engine, which Pool.Close can end.
func (i *Instance) begin(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	i.stop.Lock()
	defer i.stop.Unlock()
	if i.stop.closed {
		cancel(ErrClosed)
	}
	i.stop.cancel = cancel
	return ctx, func() {
		i.stop.Lock()
		defer i.stop.Unlock()
		i.stop.cancel = nil
		cancel(nil)
	}
}

// interrupt ends the call under way, and every later one, with ErrClosed.
func (i *Instance) interrupt() {
	i.stop.Lock()
	defer i.stop.Unlock()
	i.stop.closed = true
	if i.stop.cancel != nil {
		i.stop.cancel(ErrClosed)
	}
}

// call runs f, which calls into the engine, so that the end of ctx interrupts it.
func (i *Instance) call(ctx context.Context, f func() error) error {
	ctx, end := i.begin(ctx)
	defer end()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	finish := i.engine.guard(ctx)
	return finish(f())
}

// Exec runs one statement of our own making, such as CREATE TEMP VIEW over the files of a plan. It must not contain text of a user
// other than through SerializeSQL and DeserializeSQL. What it creates must be TEMP, else the instance is closed on Release.
func (i *Instance) Exec(ctx context.Context, trustedSQL string) error {
	return i.call(ctx, func() error { return i.engine.exec(trustedSQL) })
}

// Release ends the use of the instance: open Rows are closed, temporary tables and views are dropped with their connection, and the
// instance becomes idle for its org. It is closed instead when an error left it in doubt or when anything else remains in it.
func (i *Instance) Release() {
	if !i.used {
		return
	}
	i.used = false
	if i.rows != nil {
		i.rows.free()
	}
	clean := !i.engine.doubtful
	if clean {
		clean = i.engine.reconnect() == nil && i.engine.isEmpty()
		if !clean {
			i.pool.logger.Warn("a statement left something in its engine instance; closing it", "org", string(i.org))
		}
	}
	i.pool.putBack(i, clean)
}

// leftovers counts what a statement may have created outside of its connection; the macros of openEngine are in schema main.
var leftovers = strings.Join([]string{
	"SELECT (SELECT count(*) FROM duckdb_tables() WHERE NOT internal)",
	"(SELECT count(*) FROM duckdb_views() WHERE NOT internal)",
	"(SELECT count(*) FROM duckdb_sequences())",
	"(SELECT count(*) FROM duckdb_types() WHERE NOT internal)",
	"(SELECT count(*) FROM duckdb_databases() WHERE NOT internal AND database_name <> 'memory')",
	"(SELECT count(*) FROM duckdb_secrets())",
	"(SELECT count(*) FROM duckdb_schemas() WHERE NOT internal AND schema_name <> 'main') AS n",
}, " + ")

// isEmpty reports that the database holds our macros and nothing else.
func (e *engine) isEmpty() bool {
	var res bindings.Result
	defer bindings.DestroyResult(&res)
	if bindings.Query(e.conn, leftovers, &res) == bindings.StateError {
		return false
	}
	return bindings.ValueInt64(&res, 0, 0) == 0
}
