package chaos_test

import (
	"fmt"
	"slices"
	"sync"
)

// span is numbers from first to last, both inclusive: one request.
type span struct{ first, last int64 }

func (s span) rows() int64 { return s.last - s.first + 1 }

// ledger knows what was sent to one stream and what of it was acknowledged. Numbers begin at 1.
type ledger struct {
	mu struct {
		sync.Mutex
		sent    int64  // the highest number that a request bears
		acked   []span // of acknowledged requests, in no order
		rows    int64  // in acked
		seen    int64  // the highest count that an answer without warnings told
		settled int64  // numbers up to here will not change any more
		there   int64  // how many of them are stored
	}
}

// take returns the next n numbers, which count as sent.
func (l *ledger) take(n int64) span {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := span{l.mu.sent + 1, l.mu.sent + n}
	l.mu.sent = s.last
	return s
}

func (l *ledger) ack(s span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.acked = append(l.mu.acked, s)
	l.mu.rows += s.rows()
}

// totals returns the numbers sent and acknowledged so far.
func (l *ledger) totals() (sent, acked int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.sent, l.mu.rows
}

// floor returns what a count that is asked for now must reach.
func (l *ledger) floor() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.mu.rows, l.mu.seen)
}

// judge returns what is wrong with an answer to count(*), count(DISTINCT n), max(n), of which floor was taken before the question.
func (l *ledger) judge(floor, count, distinct, highest int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case count != distinct:
		return fmt.Errorf("%d rows with %d numbers: rows are doubled", count, distinct)
	case count < floor:
		return fmt.Errorf("%d rows, at least %d were acknowledged or seen before the question", count, floor)
	case count > l.mu.sent || highest > l.mu.sent:
		return fmt.Errorf("%d rows up to number %d, only %d were sent", count, highest, l.mu.sent)
	}
	l.mu.seen = max(l.mu.seen, count)
	return nil
}

// settle compares the sorted stored numbers above the settled ones with the ledger, while no request is under way. Requests of which
// the caller has destroyed the log are forgiven: they count as not acknowledged from now on.
func (l *ledger) settle(stored []int64, forgiven ...span) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.acked = slices.DeleteFunc(l.mu.acked, func(s span) bool { return slices.Contains(forgiven, s) })
	if err := l.compare(stored, l.mu.settled); err != nil {
		return err
	}
	l.mu.there += int64(len(stored))
	l.mu.settled = l.mu.sent
	return nil
}

// audit compares all stored numbers, sorted, with the ledger, of which everything is settled.
func (l *ledger) audit(stored []int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := int64(len(stored)); n != l.mu.there {
		return fmt.Errorf("%d rows, there were %d when they were settled", n, l.mu.there)
	}
	return l.compare(stored, 0)
}

// compare checks the sorted stored numbers above a number. The caller holds l.mu.
func (l *ledger) compare(stored []int64, above int64) error {
	for i := 1; i < len(stored); i++ {
		if stored[i] == stored[i-1] {
			return fmt.Errorf("number %d is there twice", stored[i])
		}
	}
	if n := len(stored); n > 0 && (stored[0] <= above || stored[n-1] > l.mu.sent) {
		return fmt.Errorf("numbers from %d to %d are there, only %d to %d were sent", stored[0], stored[n-1], above+1, l.mu.sent)
	}
	for _, s := range l.mu.acked {
		if s.last <= above {
			continue
		}
		if missing := s.missing(stored); len(missing) > 0 {
			return fmt.Errorf("acknowledged numbers are lost: %v (request %d to %d)", missing, s.first, s.last)
		}
	}
	return nil
}

// missing returns the numbers of s that are not in the sorted stored ones.
func (s span) missing(stored []int64) (out []int64) {
	for n := s.first; n <= s.last; n++ {
		if _, ok := slices.BinarySearch(stored, n); !ok {
			out = append(out, n)
		}
	}
	return out
}

// lost returns the acknowledged requests of which any number is missing.
func (l *ledger) lost(stored []int64) (out []span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.mu.acked {
		if s.last > l.mu.settled && len(s.missing(stored)) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// standing returns up to where the numbers are settled and how many of them are stored.
func (l *ledger) standing() (settled, there int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.settled, l.mu.there
}
