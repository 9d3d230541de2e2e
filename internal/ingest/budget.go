package ingest

import (
	"context"
	"sync"
	"time"

	"github.com/millstream/millstream/internal/clock"
)

// maxMemoryWait bounds how long a write waits for room in the buffers before it is refused.
const maxMemoryWait = 10 * time.Second

// budget counts the bytes of all buffers against their bound.
type budget struct {
	max   int64
	clock clock.Clock
	mu    *budgetState
}

type budgetState struct {
	sync.Mutex
	used  int64
	freed chan struct{} // closed and replaced when bytes are released
}

func newBudget(limit int64, c clock.Clock) budget {
	return budget{max: limit, clock: c, mu: &budgetState{freed: make(chan struct{})}}
}

// acquire charges n bytes. Above the bound it calls kick and waits for releases, at most maxMemoryWait, then returns ErrMemory. A
// batch larger than the whole bound passes when nothing else is held.
func (m budget) acquire(ctx context.Context, n int64, kick func()) error {
	var timeout <-chan time.Time
	for {
		m.mu.Lock()
		if m.mu.used == 0 || m.mu.used+n <= m.max {
			m.mu.used += n
			m.mu.Unlock()
			return nil
		}
		freed := m.mu.freed
		m.mu.Unlock()
		kick()
		if timeout == nil {
			timeout = m.clock.After(maxMemoryWait)
		}
		select {
		case <-freed:
		case <-timeout:
			return ErrMemory
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// force charges n bytes whatever the bound (replay, which flushes by itself).
func (m budget) force(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.used += n
}

// release gives n bytes back.
func (m budget) release(n int64) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.used -= n
	close(m.mu.freed)
	m.mu.freed = make(chan struct{})
}

// used returns the bytes held.
func (m budget) used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.used
}

// pressed reports whether more than half of the bound is held, which is when flushes no longer wait for their time.
func (m budget) pressed() bool { return m.used() > m.max/2 }
