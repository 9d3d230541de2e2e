package rules

import (
	"reflect"
	"slices"
	"time"

	"github.com/millstream/millstream/internal/cluster"
)

// Row is what a heartbeat row says about membership.
type Row struct {
	Node    cluster.Node // State is empty
	Ready   bool         // what the last heartbeat said
	ReadyAt time.Time    // last ready heartbeat under this id, of whatever incarnation; zero when the node said that it no longer is
}

// Record is the view row.
type Record struct {
	Epoch      int64
	Algo       int
	Listed     []cluster.Listed // ordered by id
	ObservedAt time.Time        // when somebody last looked, give or take a Touch
	// ReachableSince is the end of the last time that nobody looked for longer than a Gap: the database was away, or everybody.
	ReachableSince time.Time
}

// View returns the record's view, which shares nothing with it.
func (r Record) View() *cluster.View { return cluster.NewView(r.Epoch, r.Algo, slices.Clone(r.Listed)) }

// Timing is the peer timeout and what follows from it. A node looks at least every fifth of it and writes its heartbeat at least every
// half; after a failure it tries again within a tenth. So an outage shorter than a Gap makes no heartbeat older than a peer timeout
// (a half, a third and a tenth), and a longer one is seen.
type Timing struct{ PeerTimeout time.Duration }

// Gap is how long nobody looks before the database counts as having been away.
func (t Timing) Gap() time.Duration { return t.PeerTimeout / 3 }

// Touch is the age at which a reader writes ObservedAt again. A gap is seen by that much too early rather than too late.
func (t Timing) Touch() time.Duration { return t.PeerTimeout / 15 }

// WriteWithin is how old the rows may be on which a written view is based: a reader that was stopped in between starts over.
func (t Timing) WriteWithin() time.Duration { return t.PeerTimeout / 5 }

// Calm reports whether the database has been observed without a pause for one peer timeout, so that silence is the node's own.
func (t Timing) Calm(observedAt, reachableSince, now time.Time) bool {
	return now.Sub(observedAt) <= t.Gap() && now.Sub(reachableSince) >= t.PeerTimeout
}

// Next returns the record as of now, and whether it must be written. known is the caller's epoch: a changed list gets a greater one,
// and so does an older record (the store was restored), so that no reader sees one epoch with two lists. Rows are ordered by id.
func Next(last Record, rows []Row, now time.Time, t Timing, known int64) (next Record, write bool) {
	next = last
	age := now.Sub(last.ObservedAt) // negative when the clock stepped back
	if age >= t.Touch() || age <= -t.Touch() {
		next.ObservedAt = now
	}
	if age > t.Gap() || age <= -t.Touch() || last.ReachableSince.After(now) {
		next.ReachableSince = now // a pause ends now, before anything is decided
	}
	next.Listed = list(last.Listed, rows, judge{now, t, t.Calm(now, next.ReachableSince, now)})
	if !sameList(last.Listed, next.Listed) || known > last.Epoch {
		next.Epoch = max(last.Epoch, known) + 1
	}
	write = next.Epoch != last.Epoch || !next.ObservedAt.Equal(last.ObservedAt) || !next.ReachableSince.Equal(last.ReachableSince)
	return next, write
}

// judge holds what one decision is made by.
type judge struct {
	now time.Time
	Timing
	calm bool
}

// isFresh reports whether the row's node was ready within the peer timeout.
func (j judge) isFresh(r Row) bool {
	return !r.ReadyAt.IsZero() && j.now.Sub(r.ReadyAt) <= j.PeerTimeout
}

// stays reports whether a member stays one: its last ready heartbeat is fresh, or its age says nothing.
func (j judge) stays(r Row) bool { return !r.ReadyAt.IsZero() && (!j.calm || j.isFresh(r)) }

// list returns the new list: the nodes that stay or come, each with the roles that it is a member of.
func list(last []cluster.Listed, rows []Row, j judge) []cluster.Listed {
	before := make(map[string]cluster.Listed, len(last))
	for _, l := range last {
		before[l.ID] = l
	}
	next := make([]cluster.Listed, 0, len(rows))
	able := make([]bool, 0, len(rows)) // beside next: may become a member
	manned := map[cluster.Role]bool{}
	for _, r := range rows {
		old, known := before[r.Node.ID]
		l, mayWork := listed(r, old, j)
		waits := mayWork || known && r.Ready && j.stays(r)
		if len(l.Active) == 0 && !waits {
			continue
		}
		for _, role := range l.Active {
			manned[role] = true
		}
		next, able = append(next, l), append(able, mayWork)
	}
	for i := range next {
		for _, role := range next[i].MemberOf() {
			if able[i] && !manned[role] {
				next[i].Active = append(next[i].Active, role) // nobody else would do it
			}
		}
		slices.Sort(next[i].Active)
	}
	return next
}

// listed returns a row's node as it stands in the list by its own merit: with the roles that it keeps or has waited long enough for.
// able is set when it may be a member of the others as well.
func listed(r Row, old cluster.Listed, j judge) (l cluster.Listed, able bool) {
	l = cluster.Listed{Node: r.Node, Active: []cluster.Role{}, Since: j.now}
	if old.Incarnation == r.Node.Incarnation {
		l.Since = earlier(old.Since, j.now)
	}
	able = r.Ready && j.isFresh(r)
	waited := able && j.now.Sub(l.Since) >= j.PeerTimeout
	for _, role := range r.Node.MemberOf() {
		if waited || j.stays(r) && slices.Contains(old.Active, role) {
			l.Active = append(l.Active, role)
		}
	}
	return l, able
}

func earlier(a, b time.Time) time.Time {
	if a.After(b) {
		return b
	}
	return a
}

// sameList reports whether nothing is to be written.
func sameList(a, b []cluster.Listed) bool {
	return slices.EqualFunc(a, b, func(a, b cluster.Listed) bool {
		since := a.Since.Equal(b.Since)
		a.Since, b.Since = time.Time{}, time.Time{}
		return since && reflect.DeepEqual(a, b)
	})
}
