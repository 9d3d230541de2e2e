package ingest

import (
	"context"
	"time"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/quota"
	"github.com/millstream/millstream/internal/tenant"
)

// maxMemoryWait bounds how long a write waits for room in the buffers before it is refused.
const maxMemoryWait = 10 * time.Second

// budget counts the bytes of all buffers against their bound, of which each org gets a share.
type budget struct{ shares *quota.Shares }

func newBudget(limit int64, c clock.Clock) budget { return budget{quota.NewShares(limit, c)} }

// acquire charges n bytes to an org. Above the bound, or above the org's share of it, it calls kick and waits for releases, at most
// maxMemoryWait, then returns ErrMemory or an error that says whose rows fill the buffers. A batch larger than the whole bound passes
// when nothing else is held.
func (m budget) acquire(ctx context.Context, org tenant.ID, n int64, kick func()) error {
	ok, err := m.shares.Take(ctx, org, n, maxMemoryWait, kick)
	switch {
	case err != nil:
		return err
	case ok:
		return nil
	case m.shares.Used()+n <= m.shares.Max():
		return fault.New(fault.Unavailable,
			"rows of org %s that are in no file yet hold %d bytes, its share of the intake buffers (intake.buffer_memory_max is %d): send slower",
			org, m.shares.Of(org), m.shares.Max()).After(time.Second)
	default:
		return ErrMemory
	}
}

// force charges n bytes whatever the bound (replay, which flushes by itself).
func (m budget) force(org tenant.ID, n int64) { m.shares.Force(org, n) }

// release gives n bytes of an org back.
func (m budget) release(org tenant.ID, n int64) { m.shares.Release(org, n) }

// used returns the bytes held.
func (m budget) used() int64 { return m.shares.Used() }

// full reports whether more is held than the bound allows.
func (m budget) full() bool { return m.shares.Used() > m.shares.Max() }

// pressed reports whether more than half of the bound is held, which is when flushes no longer wait for their time.
func (m budget) pressed() bool { return m.used() > m.shares.Max()/2 }
