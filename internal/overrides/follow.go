package overrides

import (
	"bytes"
	"context"
	"os"
	"time"
)

// How long the content of a file must stay the same before it is used. The second is for a file whose last line has no end, as one
// that is cut in the middle of a number.
const (
	settleTime         = 100 * time.Millisecond
	settleTimeUnending = 500 * time.Millisecond
)

// Of a file that never rests.
const (
	// patience is how long a change is waited for to come to rest. After it, what is known to be whole is used.
	patience = 500 * time.Millisecond
	// retryTime is how soon a file is looked at again in which somebody is writing just then, and retryFor how long after the last look.
	retryTime = 10 * time.Millisecond
	retryFor  = 2 * settleTime
)

// Run follows the file until ctx ends.
func (f *File) Run(ctx context.Context) error {
	w := newWatch(f.opts.Path, f.deps.Logger)
	defer w.close()
	pending := &change{file: f}
	defer pending.forget()
	poll := f.deps.Clock.After(f.opts.Period)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.events():
		case <-poll:
			poll = f.deps.Clock.After(f.opts.Period)
			w.renew()
		case <-pending.due:
			pending.due = nil
		}
		if pending.due == nil { // else it is looked at soon anyway
			pending.look()
		}
	}
}

// change is a change of the file that is not in force yet. The zero due says that nothing is waited for.
type change struct {
	file   *File
	last   *reading         // of the last look; its file is kept open
	looked time.Time        // when that was
	since  time.Time        // when what is in force was found to be no longer what the file says
	due    <-chan time.Time // when it is looked at again
}

// forget ends the waiting.
func (c *change) forget() { c.keep(nil) }

// keep makes r the last reading.
func (c *change) keep(r *reading) {
	if c.last != nil && c.last != r {
		c.last.close()
	}
	c.last, c.looked = r, c.file.deps.Clock.Now()
}

// look reads the file and uses it when it has come to rest, or has been changing for too long and something of it is whole.
func (c *change) look() {
	now, err := read(c.file.opts.Path)
	if err != nil {
		c.file.unreadable(err)
		c.forget()
		return
	}
	switch {
	case c.file.isJudged(now.text):
	case c.last != nil && now.isSame(c.last):
		c.file.judge(now.text)
	case c.last != nil && c.file.deps.Clock.Now().Sub(c.since) >= patience:
		text, busy := c.whole(now)
		if text != nil {
			c.file.judge(text)
			c.since = c.file.deps.Clock.Now()
		}
		if busy && c.file.deps.Clock.Now().Sub(c.looked) < retryFor { // what now has is not worth keeping
			now.close()
			c.due = c.file.deps.Clock.After(retryTime)
			return
		}
	}
	if c.file.isJudged(now.text) {
		now.close()
		c.forget()
		return
	}
	if c.last == nil {
		c.since = c.file.deps.Clock.Now()
	}
	c.keep(now)
	c.due = c.file.deps.Clock.After(settleTimeOf(now.text))
}

// whole returns a text of the file that nobody is in the middle of writing, nil when there is none, and whether that is so since somebody
// has the file open for writing just then.
//
// The file of the last look that has another in its place by now, as every editor that renames leaves it, is whole when it has come to rest
// itself. A file that is written in place is whole while nobody has it open for writing, unless it only grows: then the next piece may
// follow.
func (c *change) whole(now *reading) (text []byte, busy bool) {
	if !os.SameFile(now.info, c.last.info) {
		if rested, err := c.last.again(); err == nil && rested.isSame(c.last) && c.rested() {
			return c.last.text, false
		}
	}
	alone, busy := now.alone()
	if len(alone) == 0 || alone[len(alone)-1] != '\n' || grows(c.last.text, alone) {
		return nil, busy
	}
	return alone, busy
}

// rested reports whether the last look was long enough ago for its text.
func (c *change) rested() bool {
	return c.file.deps.Clock.Now().Sub(c.looked) >= settleTimeOf(c.last.text)
}

// grows reports whether one of two texts is the other's beginning.
func grows(a, b []byte) bool {
	return len(a) != len(b) && (bytes.HasPrefix(a, b) || bytes.HasPrefix(b, a))
}

func settleTimeOf(text []byte) time.Duration {
	if len(text) == 0 || text[len(text)-1] != '\n' {
		return settleTimeUnending
	}
	return settleTime
}
