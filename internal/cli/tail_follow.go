package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// follower shows each row of a stream once.
//
// Each look reads all rows from "since" on, which is the lateness before the last look that succeeded. Rows that were seen before
// are known by what they hold; of rows that are alike, as many are shown as there are.
type follower struct {
	options tailOptions
	client  *client
	stream  streamName
	out     io.Writer

	since time.Time            // from here on rows are read
	seen  map[rowKey]*sighting // rows from since on
	turn  int                  // number of the look
}

// sighting counts rows that are alike.
type sighting struct {
	at    time.Time
	shown int // in all looks
	turn  int // the last look that saw one
	now   int // in that look
}

// start shows the last rows and remembers the rows that the next look will see again.
func (f *follower) start(ctx context.Context) error {
	now, err := f.clock(ctx)
	if err != nil {
		return err
	}
	f.since = now.Add(-max(f.options.lateness, f.options.since))
	var recent []*tailRow
	err = f.look(ctx, func(r *tailRow) error {
		recent = append(recent, r)
		if !f.options.all && len(recent) > f.options.last {
			recent = recent[1:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	if missing := f.options.last - len(recent); f.options.since == 0 && missing > 0 {
		older, err := f.older(ctx, now, missing)
		if err != nil {
			return err
		}
		recent = append(older, recent...)
	}
	for _, r := range recent {
		if err := f.show(r); err != nil {
			return err
		}
	}
	return nil
}

// clock asks for the server's time; the stream's name and the condition are checked by the way.
func (f *follower) clock(ctx context.Context) (time.Time, error) {
	statement := f.statement("LIMIT 0")
	res, err := f.client.query(ctx, queryRequest{Statement: statement}, mediaNDJSON)
	if err != nil {
		return time.Time{}, &statementError{err, statement}
	}
	defer res.Body.Close()
	_, err = readLines(res.Body, func([]byte) error { return nil })
	return serverTime(res), err
}

// older returns up to n rows before the rows that looks see, oldest first. It reads as little as may do.
func (f *follower) older(ctx context.Context, now time.Time, n int) ([]*tailRow, error) {
	const day = 24 * time.Hour
	const end = "_timestamp < "
	var rows []*tailRow
	for _, span := range []time.Duration{time.Hour, day, 0} {
		conditions := []string{end + timeText(f.since)}
		if span > 0 {
			conditions = append(conditions, "_timestamp >= "+timeText(now.Add(-span)))
		}
		rows = rows[:0]
		_, err := f.read(ctx, f.statement(fmt.Sprintf("ORDER BY _timestamp DESC LIMIT %d", n), conditions...), func(r *tailRow) error {
			rows = append(rows, r)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(rows) == n {
			break
		}
	}
	slices.Reverse(rows)
	return rows, nil
}

// look reads the rows that may be new, and calls fresh with those that are.
func (f *follower) look(ctx context.Context, fresh func(*tailRow) error) error {
	f.turn++
	now, err := f.read(ctx, f.statement("ORDER BY _timestamp", "_timestamp >= "+timeText(f.since)), func(r *tailRow) error {
		s := f.seen[r.key]
		if s == nil {
			s = &sighting{at: r.at}
			f.seen[r.key] = s
		}
		if s.turn != f.turn {
			s.turn, s.now = f.turn, 0
		}
		s.now++
		if s.now <= s.shown {
			return nil
		}
		s.shown = s.now
		return fresh(r)
	})
	if err != nil {
		return err
	}
	if next := now.Add(-f.options.lateness); next.After(f.since) {
		f.since = next
		for key, s := range f.seen {
			if s.at.Before(f.since) {
				delete(f.seen, key)
			}
		}
	}
	return nil
}

// read runs a statement and returns a time of the server's clock at which rows that are not in the answer were not there.
func (f *follower) read(ctx context.Context, statement string, row func(*tailRow) error) (time.Time, error) {
	asked := time.Now()
	res, err := f.client.query(ctx, queryRequest{Statement: statement}, mediaNDJSON)
	if err != nil {
		return time.Time{}, &statementError{err, statement}
	}
	defer res.Body.Close()
	now := serverTime(res).Add(-time.Since(asked)) // the rows are those of the start, the header is as old as the first row
	_, err = readLines(res.Body, func(line []byte) error {
		r, err := parseTailRow(line)
		if err != nil {
			return err
		}
		return row(r)
	})
	return now, err
}

// statement selects whole rows. The user's condition stands in lines of its own: it may end in a comment.
func (f *follower) statement(rest string, conditions ...string) string {
	conditions = append([]string{"TRUE"}, conditions...)
	if f.options.where != "" {
		conditions = append(conditions, "(\n"+f.options.where+"\n)")
	}
	return "SELECT * FROM " + f.stream.sql() + " WHERE " + strings.Join(conditions, " AND ") + " " + rest
}

func timeText(t time.Time) string { return quoteText(t.UTC().Format(time.RFC3339Nano)) }

// show prints a row.
func (f *follower) show(r *tailRow) error {
	if f.options.output == "ndjson" {
		return write(f.out, r.line)
	}
	return write(f.out, []byte(r.text()))
}
