package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

// ExitCode returns the process's exit code for an error of a command: 0 without one, 2 for wrong usage, else 1.
func ExitCode(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		return exitUsage
	default:
		return exitFailed
	}
}

// usageError is a command line that cannot be carried out as written.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// arguments makes the errors of a check of arguments usage errors.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%w; see '%s --help'", err, cmd.CommandPath())
		}
		return nil
	}
}

// apiError is an answer of the server that says no.
type apiError struct {
	Status     int
	Message    string
	RequestID  string
	RetryAfter time.Duration // 0 if the server named none
	// Settled is the number of leading rows of a JSON intake request that are stored or refused, Accepted how many are stored.
	Settled, Accepted int
}

// Error returns the server's message, with the request's id where the server's log says more.
func (e *apiError) Error() string {
	const serverFault = 500
	if e.Status >= serverFault && e.RequestID != "" {
		return fmt.Sprintf("%s (status %d, request id %s)", e.Message, e.Status, e.RequestID)
	}
	return e.Message
}

// incompleteError is an answer that stopped before its end.
type incompleteError struct {
	rows int64
	err  error
}

func (e *incompleteError) Error() string {
	return fmt.Sprintf("the answer is incomplete: it ended after %s: %v", plural(e.rows, "row"), e.err)
}

func (e *incompleteError) Unwrap() error { return e.err }

// statementError shows where in a statement an error is.
type statementError struct {
	err       error
	statement string
}

// position finds the place that the server's messages about statements begin with: line and column in characters, both from 1.
var position = regexp.MustCompile(`\bline (\d+), column (\d+)`)

// Error returns the message and, if it has a position, the statement's line with a caret below the place.
func (e *statementError) Error() string {
	text := e.err.Error()
	m := position.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	line, _ := strconv.Atoi(m[1])
	column, _ := strconv.Atoi(m[2])
	lines := strings.Split(e.statement, "\n")
	if line < 1 || line > len(lines) || column < 1 {
		return text
	}
	shown := printable(strings.TrimSuffix(strings.ReplaceAll(lines[line-1], "\t", " "), "\r"))
	before := []rune(shown)
	before = before[:min(column-1, len(before))]
	margin := fmt.Sprintf("%4d | ", line)
	return fmt.Sprintf("%s\n%s%s\n%s^", text, margin, shown, strings.Repeat(" ", len(margin)+uniseg.StringWidth(string(before))))
}

func (e *statementError) Unwrap() error { return e.err }

// plural returns "1 row" or "12,345 rows".
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(n) + " " + noun + "s"
}

// thousands groups digits by commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
