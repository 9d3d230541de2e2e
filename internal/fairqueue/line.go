package fairqueue

import (
	"cmp"
	"time"

	"github.com/millstream/millstream/internal/tenant"
)

// line is what is known of one org.
type line struct {
	org      tenant.ID
	settings Settings
	queue    *actors
	queued   int // queries in queue
	waiting  int // queries that wait and are charged to the org, in its queue or another's
	running  int // slots charged to the org
	use      use
	service  time.Duration // mean time of a slot, lately; 0 = not known
	place    int           // in the heap, -1 outside
}

func (l *line) active() bool { return l.waiting > 0 || l.running > 0 }

// load is the first part of the key.
func (l *line) load() float64 { return float64(l.running) / l.settings.Weight }

// compare orders lines by key. It does not depend on the time: the use of two lines under the same load grows alike.
func (l *line) compare(o *line) int {
	if c := cmp.Compare(l.load(), o.load()); c != 0 {
		return c
	}
	return cmp.Compare(l.use.base, o.use.base)
}

// lines is a heap of the lines in which queries wait. It implements heap.Interface.
type lines []*line

// Len implements heap.Interface.
func (h lines) Len() int { return len(h) }

// Less implements heap.Interface.
func (h lines) Less(i, j int) bool {
	if c := h[i].compare(h[j]); c != 0 {
		return c < 0
	}
	return h[i].queue.first().arrival < h[j].queue.first().arrival
}

// Swap implements heap.Interface.
func (h lines) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements heap.Interface.
func (h *lines) Push(x any) {
	l := x.(*line) //nolint:forcetypeassert // of package heap
	l.place = len(*h)
	*h = append(*h, l)
}

// Pop implements heap.Interface.
func (h *lines) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	l.place = -1
	return l
}
