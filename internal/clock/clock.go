package clock

import (
	"sync"
	"time"
)

// Clock tells the time and makes timers. Implementations are safe for concurrent use.
type Clock interface {
	// Now returns the current time. System's carries a monotonic reading.
	Now() time.Time
	// After returns a channel that receives once, d after now.
	After(d time.Duration) <-chan time.Time
}

// System is the clock of the machine.
type System struct{}

// Now returns time.Now.
func (System) Now() time.Time { return time.Now() }

// After returns time.After(d).
func (System) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Fake is a clock that moves only when told. The zero value starts at the zero time.
type Fake struct {
	mu struct {
		sync.Mutex
		now    time.Time
		timers []fakeTimer
	}
}

type fakeTimer struct {
	at time.Time
	c  chan time.Time
}

// NewFake returns a fake clock that reads now.
func NewFake(now time.Time) *Fake {
	f := &Fake{}
	f.mu.now = now
	return f
}

// Now returns the time the clock was moved to.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.now
}

// After returns a channel that receives when the clock has been moved by d or more.
func (f *Fake) After(d time.Duration) <-chan time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := make(chan time.Time, 1)
	if d <= 0 {
		c <- f.mu.now
		return c
	}
	f.mu.timers = append(f.mu.timers, fakeTimer{at: f.mu.now.Add(d), c: c})
	return c
}

// Advance moves the clock by d and fires what has come due.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.now = f.mu.now.Add(d)
	kept := f.mu.timers[:0]
	for _, t := range f.mu.timers {
		if t.at.After(f.mu.now) {
			kept = append(kept, t)
			continue
		}
		t.c <- f.mu.now
	}
	f.mu.timers = kept
}

var (
	_ Clock = System{}
	_ Clock = (*Fake)(nil)
)
