package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/testkit/mstest"
)

// patience bounds how long a server may take to answer completely after everything it needs is back.
const patience = 2 * time.Minute

// verify compares the rows of the lanes being written with their ledgers, with all writers held.
func (c *campaign) verify() {
	c.Helper()
	c.gate.Lock()
	defer c.gate.Unlock()
	for _, l := range c.lanes() {
		require.NoError(c, c.settle(l), "%s", l)
	}
	c.state.Lock()
	defer c.state.Unlock()
	require.Empty(c, c.state.problems, strings.Join(c.state.problems, "\n"))
}

// settle reads the numbers that are not settled yet, checks that the settled ones are as many as before, and settles.
func (c *campaign) settle(l *lane) error {
	settled, there := l.standing()
	stored, err := c.numbers(l, settled)
	if err != nil {
		return err
	}
	before, err := c.ask(l, fmt.Sprintf("SELECT count(*) FROM %s WHERE %s <= %d", l.from, l.number, settled))
	if err != nil {
		return err
	}
	if n := sum(before); n != there {
		return fmt.Errorf("%d rows have numbers up to %d, %d had before", n, settled, there)
	}
	return l.settle(stored)
}

// verifyAll settles all lanes and reads every row that was ever written again.
func (c *campaign) verifyAll() {
	c.Helper()
	c.gate.Lock()
	defer c.gate.Unlock()
	for _, l := range c.state.all {
		require.NoError(c, c.settle(l), "%s", l)
		stored, err := c.numbers(l, 0)
		require.NoError(c, err, "%s", l)
		require.NoError(c, l.audit(stored), "%s", l)
	}
}

// numbers returns the stored numbers above a number, in order.
func (c *campaign) numbers(l *lane, above int64) ([]int64, error) {
	rows, err := c.ask(l, fmt.Sprintf("SELECT %s AS n FROM %s WHERE %s > %d ORDER BY 1", l.number, l.from, l.number, above))
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(rows))
	for i, row := range rows {
		if out[i], err = integer(row[0]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ask repeats a question until it is answered without warnings. A stream to which nothing was acknowledged may be unknown.
func (c *campaign) ask(l *lane, statement string) (rows [][]any, err error) {
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	err = mstest.WaitFor(ctx, func(ctx context.Context) error {
		a, err := c.front().Client(l.org).Ask(ctx, statement)
		var status *mstest.StatusError
		switch _, acked := l.totals(); {
		case errors.As(err, &status) && status.Status == http.StatusNotFound && acked == 0:
			return nil
		case err != nil:
			return err
		case len(a.Warnings) > 0:
			return fmt.Errorf("the answer is incomplete: %q", a.Warnings)
		}
		rows = a.Rows
		return nil
	})
	return rows, err
}

func integer(v any) (int64, error) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, fmt.Errorf("%v is no number", v)
	}
	return n.Int64()
}

// sum adds the first column.
func sum(rows [][]any) (total int64) {
	for _, row := range rows {
		n, err := integer(row[0])
		if err != nil {
			return -1
		}
		total += n
	}
	return total
}
