package promeval

import "github.com/prometheus/prometheus/promql"

// rates computes rate and increase of the windows of one series in constant time a window, unless the counter was reset in it. The result
// is the engine's to the bit: the same operations on the same numbers in the same order.
type rates struct {
	points []promql.FPoint
	resets []int // places of points that are less than the one before
	next   int   // first of resets that may lie in the window
	divide float64
}

// reset takes the points of another series. divide is the range in seconds for a rate, 0 for an increase.
func (r *rates) reset(points []promql.FPoint, divide float64) {
	r.points, r.resets, r.next, r.divide = points, r.resets[:0], 0, divide
	for i := 1; i < len(points); i++ {
		if points[i].F < points[i-1].F {
			r.resets = append(r.resets, i)
		}
	}
}

// of returns the value of the points from first to last, exclusive, in the window of the times (from, to] in milliseconds. It is not ok for
// less than two points. Windows come in order: first never falls.
func (r *rates) of(first, last int, from, to int64) (v float64, ok bool) {
	if last-first < 2 {
		return 0, false
	}
	begin, end := r.points[first], r.points[last-1]
	v = end.F - begin.F
	for r.next < len(r.resets) && r.resets[r.next] <= first {
		r.next++
	}
	for i := r.next; i < len(r.resets) && r.resets[i] < last; i++ {
		v += r.points[r.resets[i]-1].F
	}
	covered := float64(end.T-begin.T) / millisPerSecond
	gap := covered / float64(last-first-1)
	before, after := float64(begin.T-from)/millisPerSecond, float64(to-end.T)/millisPerSecond
	near := gap * nearGaps
	if before >= near {
		before = gap / 2
	}
	// A counter does not begin below zero.
	if v > 0 && begin.F >= 0 {
		if zero := covered * (begin.F / v); zero < before {
			before = zero
		}
	}
	if after >= near {
		after = gap / 2
	}
	factor := 1.0
	if covered != 0 {
		factor = (covered + before + after) / covered
	}
	if r.divide != 0 {
		factor /= r.divide
	}
	return v * factor, true
}

const (
	millisPerSecond = 1000
	// nearGaps is how many gaps between points an end of the window may be away for the slope to be carried on to it.
	nearGaps = 1.1
)
