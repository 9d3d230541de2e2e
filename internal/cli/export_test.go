package cli

import (
	"context"
	"io"
	"time"
)

// For tests of parts that a server cannot reach.
var (
	Printable   = printable
	ParseStream = parseStream
)

// RetryWith runs attempt as senders do, with sleep in place of waiting.
func RetryWith(ctx context.Context, giveUp time.Duration, sleep func(context.Context, time.Duration) error, attempt func() error) error {
	r := newRetrier(giveUp, func(string, ...any) {})
	r.sleep = sleep
	return r.do(ctx, attempt)
}

// Refusal is an answer of a server.
func Refusal(status int, retryAfter time.Duration) error {
	return &apiError{Status: status, Message: "no", RetryAfter: retryAfter}
}

// Batches cuts an input and returns the bodies and the offsets behind them.
func Batches(r io.Reader, maxRows, maxBytes int) (bodies []string, ends []int64, refused int, err error) {
	b := newBatcher(r, 0, 0, maxRows, maxBytes)
	for {
		next, err := b.next(nil)
		if err != nil {
			return bodies, ends, refused, err
		}
		bodies, ends, refused = append(bodies, string(next.body)), append(ends, next.end), refused+len(next.refused)
		if next.last {
			return bodies, ends, refused, nil
		}
	}
}

// ShopLogs returns the log lines of a shop.
func ShopLogs(seed uint64, start time.Time, visits int) string {
	s := newShop(seed, start, time.Hour, 1000)
	for i := range visits {
		s.visit(start.Add(time.Duration(i) * time.Second))
	}
	return s.take().logs.String()
}
