package quota

import (
	"context"
	"sync"
	"time"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/tenant"
)

// greed is how much of what is free an org may hold: at most greed times what is left free. One org alone holds three quarters at most, two
// together six sevenths; so there is always room for who comes next, however many orgs flood.
const greed = 3

// Shares divides a number of bytes among orgs so that no org can use up what others need. Its methods are safe for concurrent use.
type Shares struct {
	max   int64
	clock clock.Clock

	mu struct {
		sync.Mutex
		used  int64
		orgs  map[tenant.ID]int64 // of those that hold something
		freed chan struct{}       // closed and replaced when bytes are released
	}
}

// NewShares returns limit bytes of which nobody holds any.
func NewShares(limit int64, c clock.Clock) *Shares {
	s := &Shares{max: limit, clock: c}
	s.mu.orgs, s.mu.freed = map[tenant.ID]int64{}, make(chan struct{})
	return s
}

// Try takes n bytes for the org and reports whether they were there: there must be n bytes free, and the org must not hold more than
// three times of what is free afterwards. When nobody holds anything n may be any number.
func (s *Shares) Try(org tenant.ID, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(org, n)
}

func (s *Shares) take(org tenant.ID, n int64) bool {
	own, free := s.mu.orgs[org]+n, s.max-s.mu.used-n
	if s.mu.used > 0 && (free < 0 || own/greed > free) {
		return false
	}
	s.add(org, n)
	return true
}

func (s *Shares) add(org tenant.ID, n int64) {
	s.mu.used += n
	s.mu.orgs[org] += n
}

// Take is Try that waits until the bytes are there, at most for the time given, and reports whether they were. It calls kick, if not nil,
// before it waits.
func (s *Shares) Take(ctx context.Context, org tenant.ID, n int64, wait time.Duration, kick func()) (bool, error) {
	var timeout <-chan time.Time
	for {
		s.mu.Lock()
		if s.take(org, n) {
			s.mu.Unlock()
			return true, nil
		}
		freed := s.mu.freed
		s.mu.Unlock()
		if kick != nil {
			kick()
		}
		if timeout == nil {
			timeout = s.clock.After(wait)
		}
		select {
		case <-freed:
		case <-timeout:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// Force takes n bytes whatever the bound.
func (s *Shares) Force(org tenant.ID, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(org, n)
}

// Release gives n bytes of the org back.
func (s *Shares) Release(org tenant.ID, n int64) {
	if n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.used -= n
	if s.mu.orgs[org] -= n; s.mu.orgs[org] <= 0 {
		delete(s.mu.orgs, org)
	}
	close(s.mu.freed)
	s.mu.freed = make(chan struct{})
}

// Used returns the bytes that are held.
func (s *Shares) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.used
}

// Of returns the bytes that the org holds.
func (s *Shares) Of(org tenant.ID) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.orgs[org]
}

// Max returns the number of bytes that is divided.
func (s *Shares) Max() int64 { return s.max }
