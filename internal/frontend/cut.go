package frontend

import "time"

// maxParts bounds the parts of one query; longer ones have longer parts.
const maxParts = 1000

// span is a time from Start (inclusive) to End (exclusive); zero = open.
type span struct{ start, end time.Time }

// cut divides a time at multiples of the interval between from and to. The first and the last part reach as far as whole does.
func cut(whole span, from, to time.Time, interval time.Duration) []span {
	if n := to.Sub(from) / interval; n >= maxParts {
		interval *= n/maxParts + 1
	}
	parts := []span{{start: whole.start}}
	for at := from.Truncate(interval).Add(interval); at.Before(to); at = at.Add(interval) {
		parts[len(parts)-1].end = at
		parts = append(parts, span{start: at})
	}
	parts[len(parts)-1].end = whole.end
	return parts
}
