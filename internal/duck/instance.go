package duck

import (
	"context"
	"strings"
	"sync"

	"github.com/millstream/millstream/internal/tenant"
)

// Instance is a DuckDB database that one statement has to itself. It is used by one goroutine at a time and must be
// released; a second Release does nothing.
type Instance struct {
	pool   *Pool
	orgs   []tenant.ID // whose files it may read
	engine *engine
	rows   *Rows // open, or nil
	used   bool  // between Acquire and Release

	stop struct {
		sync.Mutex
		cancel context.CancelCauseFunc // of the call under way, or nil
		closed bool                    // the pool is closing
	}
}

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

// Exec runs statements of our own making, such as CREATE TEMP VIEW over the files of a plan. They must not contain text of a user
// other than through SerializeSQL and DeserializeSQL. A text that does not begin with CREATE TEMP or CREATE OR REPLACE TEMP costs the
// instance its reuse: it is closed on Release.
func (i *Instance) Exec(ctx context.Context, trustedSQL string) error {
	if !strings.HasPrefix(trustedSQL, "CREATE TEMP ") && !strings.HasPrefix(trustedSQL, "CREATE OR REPLACE TEMP ") {
		i.engine.doubtful = true
	}
	return i.call(ctx, func() error { return i.engine.exec(trustedSQL) })
}

// Release ends the use of the instance: open Rows are closed, temporary tables and views are dropped with their connection (a SELECT can
// create nothing else), and the instance becomes idle for its org. It is closed instead when an error or Exec left it in doubt.
func (i *Instance) Release() {
	if !i.used {
		return
	}
	i.used = false
	if i.rows != nil {
		i.rows.free()
	}
	clean := !i.engine.doubtful && i.engine.reconnect() == nil
	i.pool.putBack(i, clean)
}
