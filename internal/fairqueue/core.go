package fairqueue

import (
	"container/heap"
	"container/list"
	"time"

	"github.com/millstream/millstream/internal/tenant"
)

// reserveLapse is how long no other org may have been active before one gets the reserve.
const reserveLapse = 10 * time.Second

// reserveFrom is the capacity from which there is a reserve; it is a quarter then.
const reserveFrom = 4

// busyPause is how long a slot that turned out not to exist is left alone, unless another one is given back before.
const busyPause = 500 * time.Millisecond

// maxIdleLines bounds the orgs that are remembered though they do nothing.
const maxIdleLines = 10_000

// waiter is a query from its arrival until its slot is given back.
type waiter struct {
	ask     Ask
	lines   []*line // of ask.Orgs
	home    *line   // whose queue it stands in
	arrival uint64
	granted time.Time     // zero while it waits
	ready   chan struct{} // receives once it has a slot

	node  *actors // nil when it stands in no queue
	place *list.Element
}

// core is the state of a queue: it decides, and knows neither locks nor timers. All calls come with the present time, which never
// goes back.
type core struct {
	settings func(tenant.ID) Settings
	capacity int
	running  int // slots that are out
	lines    map[tenant.ID]*line
	heap     lines
	active   map[*line]struct{}
	idle     int     // lines that are not active
	ended    [2]rest // the two orgs that became idle last, the last first
	arrivals uint64
	ages     ages

	withheld  int       // slots that were found not to exist
	withUntil time.Time // until when
	wake      time.Time // when something may run though nothing happens; zero = never
}

// rest says when an org became idle.
type rest struct {
	org tenant.ID
	at  time.Time
}

func newCore(capacity int, settings func(tenant.ID) Settings, now time.Time) *core {
	return &core{settings: settings, capacity: capacity, lines: make(map[tenant.ID]*line), active: make(map[*line]struct{}), ages: ages{now}}
}

// line returns the line of an org with its present settings.
func (c *core) line(org tenant.ID, now time.Time) *line {
	l := c.lines[org]
	if l == nil {
		l = &line{org: org, settings: c.settings(org).withDefaults(), queue: newActors(nil, ""), place: -1}
		l.use.set(c.ages, now, 0, 0)
		c.lines[org] = l
		c.idle++
		return l
	}
	if s := c.settings(org).withDefaults(); s != l.settings {
		c.change(l, now, func() { l.settings = s })
	}
	return l
}

// change does what changes the key of a line and puts it in its place again.
func (c *core) change(l *line, now time.Time, do func()) {
	was, value := l.active(), l.use.at(c.ages, now, l.load())
	do()
	if is := l.active(); is != was {
		value = c.turned(l, is, now, value)
	}
	l.use.set(c.ages, now, l.load(), value)
	switch {
	case l.queued == 0 && l.place >= 0:
		heap.Remove(&c.heap, l.place)
	case l.queued > 0 && l.place < 0:
		heap.Push(&c.heap, l)
	case l.queued > 0:
		heap.Fix(&c.heap, l.place)
	}
}

// turned counts a line that has become active or idle, and returns its use from now on.
func (c *core) turned(l *line, active bool, now time.Time, value float64) float64 {
	if active {
		c.active[l] = struct{}{}
		c.idle--
		return max(value, c.leastUse(l, now))
	}
	delete(c.active, l)
	c.idle++
	if c.ended[0].org != l.org {
		c.ended[1] = c.ended[0]
	}
	c.ended[0] = rest{l.org, now}
	return value
}

// leastUse returns the least use among the active lines but one; 0 without any.
func (c *core) leastUse(but *line, now time.Time) float64 {
	least, found := 0.0, false
	for l := range c.active {
		if l == but {
			continue
		}
		if v := l.use.at(c.ages, now, l.load()); !found || v < least {
			least, found = v, true
		}
	}
	return least
}

// enqueue lets a query wait, and gives it a slot at once if there is one. It returns the line that is full when there is no room.
func (c *core) enqueue(w *waiter, now time.Time) (full *line) {
	c.renew(now)
	w.lines = w.lines[:0]
	for _, org := range w.ask.Orgs {
		l := c.line(org, now)
		if !w.ask.Continues && l.waiting >= l.settings.MaxWaiting {
			full = l
		}
		w.lines = append(w.lines, l)
	}
	if full != nil {
		c.forget(now)
		return full
	}
	c.arrivals++
	w.arrival = c.arrivals
	c.stand(w, now, (*actors).push)
	c.dispatch(now)
	return nil
}

// stand puts a query into the line of the org that is worst off.
func (c *core) stand(w *waiter, now time.Time, push func(*actors, *waiter)) {
	w.granted = time.Time{}
	w.home = w.lines[0]
	for _, l := range w.lines[1:] {
		if o := l.compare(w.home); o > 0 || o == 0 && l.waiting > w.home.waiting {
			w.home = l
		}
	}
	for _, l := range w.lines {
		c.change(l, now, func() {
			l.waiting++
			if l == w.home {
				push(l.queue, w)
				l.queued++
			}
		})
	}
}

// cancel takes a query that waits out of its line.
func (c *core) cancel(w *waiter, now time.Time) {
	c.renew(now)
	c.step(w, now, 0)
	c.dispatch(now) // nothing may have stood behind it alone
}

// step takes a query out of its line and charges each of its orgs a number of slots.
func (c *core) step(w *waiter, now time.Time, slots int) {
	for _, l := range w.lines {
		c.change(l, now, func() {
			if l == w.home {
				if slots > 0 {
					w.served()
				}
				w.remove()
				l.queued--
			}
			l.waiting--
			l.running += slots
		})
	}
}

// dispatch gives slots to queries as long as both are there.
func (c *core) dispatch(now time.Time) {
	c.wake = time.Time{}
	if c.withheld > 0 {
		if c.withUntil.After(now) {
			c.wakeAt(c.withUntil)
		} else {
			c.withheld = 0
		}
	}
	for c.running+c.withheld < c.capacity {
		w := c.pick(now)
		if w == nil {
			return
		}
		c.step(w, now, 1)
		c.running++
		w.granted = now
		w.ready <- struct{}{}
	}
}

// wakeAt makes sure that dispatch is called at a time.
func (c *core) wakeAt(t time.Time) {
	if c.wake.IsZero() || t.Before(c.wake) {
		c.wake = t
	}
}

// pick returns the query that runs next, nil for none. Lines that may not have a slot are passed over; they hold some, or stand in for
// an org that does, so there are few of them.
func (c *core) pick(now time.Time) (w *waiter) {
	var passed []*line
	for len(c.heap) > 0 && w == nil {
		l := c.heap[0]
		if w = l.queue.next(func(w *waiter) bool { return c.may(w, now) }); w == nil {
			heap.Pop(&c.heap)
			passed = append(passed, l)
		}
	}
	for _, l := range passed {
		heap.Push(&c.heap, l)
	}
	return w
}

// may reports whether all orgs of a query may have another slot.
func (c *core) may(w *waiter, now time.Time) bool {
	for _, l := range w.lines {
		if most := l.settings.MaxRunning; most > 0 && l.running >= most {
			return false
		}
		if !c.mayTakeReserve(l, now) {
			return false
		}
	}
	return true
}

// mayTakeReserve reports whether a line may have another slot as far as the reserve goes.
func (c *core) mayTakeReserve(l *line, now time.Time) bool {
	if c.capacity < reserveFrom || l.running < c.capacity-max(1, c.capacity/reserveFrom) {
		return true
	}
	if len(c.active) > 1 { // l is active
		return false
	}
	last := c.ended[0]
	if last.org == l.org {
		last = c.ended[1]
	}
	lapse := last.at.Add(reserveLapse)
	if last.org == "" || !lapse.After(now) {
		return true
	}
	c.wakeAt(lapse)
	return false
}

// finish takes a slot back.
func (c *core) finish(w *waiter, now time.Time) {
	c.renew(now)
	c.withheld = 0
	c.giveBack(w, now, true)
	c.dispatch(now)
	c.forget(now)
}

// giveBack discharges the orgs of a query.
func (c *core) giveBack(w *waiter, now time.Time, served bool) {
	c.running--
	took := now.Sub(w.granted)
	for _, l := range w.lines {
		c.change(l, now, func() {
			l.running--
			if served {
				l.serviced(took)
			}
		})
	}
}

// serviced learns from the time that a slot was held.
func (l *line) serviced(took time.Duration) {
	const weight = 8
	if l.service == 0 {
		l.service = took
		return
	}
	l.service += (took - l.service) / weight
}

// requeue takes back a slot that was found not to exist, and lets its query be the next one of its line.
func (c *core) requeue(w *waiter, now time.Time) {
	c.renew(now)
	c.giveBack(w, now, false)
	c.withheld++
	c.withUntil = now.Add(busyPause)
	c.stand(w, now, (*actors).pushFirst)
	c.dispatch(now)
}

// forget drops lines that say nothing, when there are many of them.
func (c *core) forget(now time.Time) {
	if c.idle <= maxIdleLines {
		return
	}
	c.drop(now)
	for org, l := range c.lines {
		if c.idle <= maxIdleLines/2 {
			return
		}
		if !l.active() {
			delete(c.lines, org)
			c.idle--
		}
	}
}

// drop drops the lines of idle orgs whose use is as good as none.
func (c *core) drop(now time.Time) {
	for org, l := range c.lines {
		if !l.active() && l.use.at(c.ages, now, 0) < forgetBelow*c.ages.growth(now) {
			delete(c.lines, org)
			c.idle--
		}
	}
}

// renew begins an epoch when the present one is old.
func (c *core) renew(now time.Time) {
	if now.Sub(c.ages.epoch) < maxEpoch {
		return
	}
	c.drop(now)
	next := ages{now}
	shrink := 1 / c.ages.growth(now)
	for _, l := range c.lines {
		l.use.set(next, now, l.load(), l.use.at(c.ages, now, l.load())*shrink)
	}
	c.ages = next
	heap.Init(&c.heap) // equal numbers may have become unequal by a bit
}
