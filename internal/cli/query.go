package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// queryOptions are the flags of millstream query.
type queryOptions struct {
	connection
	output, start, end string
	limit              int
	expanded           bool
}

func queryCommand(s Streams) *cobra.Command {
	var o queryOptions
	cmd := &cobra.Command{
		Use:   "query [STATEMENT]",
		Short: "Ask a question in SQL",
		Long: `Ask a question in SQL and print the rows.

The statement is the argument, or is read from standard input when the argument is "-" or missing. On a terminal the rows are a
table, and rows wider than the terminal are shown a field a line. The other formats are written as the server sends them, while it
is still working, so they suit answers of any size. Warnings, counts and errors go to standard error.

An answer that stops before its end (a cut connection, a limit of the server) is reported as incomplete, with exit code 1. Ctrl-C
cancels the statement at the server.`,
		Example: `  millstream query "SHOW STREAMS"
  millstream query --start now-15m "SELECT level, count(*) FROM logs.app GROUP BY level"
  millstream query -o csv "SELECT * FROM app" > app.csv
  millstream query -o ndjson --limit 100 "FROM app" | jq .message
  millstream query - < question.sql`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			statement, err := statementOf(args, s.In)
			if err != nil {
				return err
			}
			return runQuery(cmd.Context(), o, statement, s)
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "table", "`format` of the rows: table, json, ndjson or csv")
	f.StringVar(&o.start, "start", "", "only rows from this `time` on: RFC 3339, seconds since 1970, or now-1h")
	f.StringVar(&o.end, "end", "", "only rows before this `time`")
	f.IntVar(&o.limit, "limit", 0, "at most so many `rows` (0 = as many as there are)")
	f.BoolVarP(&o.expanded, "expanded", "x", false, "in tables, show every row a field a line")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs(), cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	return cmd
}

func outputs() []string { return []string{"table", "json", "ndjson", "csv"} }

// statementOf returns the statement that the arguments name.
func statementOf(args []string, in io.Reader) (string, error) {
	if len(args) == 1 && args[0] != "-" {
		return args[0], nil
	}
	if len(args) == 0 && isTerminal(in) {
		return "", usagef("no statement; try: millstream query \"SHOW STREAMS\"")
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return "", fmt.Errorf("read the statement: %w", err)
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", usagef("the statement is empty")
	}
	return string(text), nil
}

func runQuery(ctx context.Context, o queryOptions, statement string, s Streams) error {
	read, media, err := o.reader(s) //nolint:bodyclose // read takes an answer that is closed below
	if err != nil {
		return err
	}
	c, err := o.client()
	if err != nil {
		return err
	}
	started := time.Now()
	q := queryRequest{Statement: statement, Start: o.start, End: o.end, Limit: o.limit}
	res, err := c.query(ctx, q, media)
	if err != nil {
		return canceled(ctx, &statementError{err, statement})
	}
	defer res.Body.Close()
	m, err := read(res)
	for _, w := range m.Warnings {
		fmt.Fprintln(s.Err, "warning:", printable(w))
	}
	if err != nil {
		return canceled(ctx, &statementError{err, statement})
	}
	if o.output == "table" {
		fmt.Fprintf(s.Err, "(%s in %s)\n", plural(m.Stats.Rows, "row"), roundedTime(time.Since(started)))
	}
	return nil
}

var errCanceled = errors.New("canceled")

// canceled returns a short error instead of err if the user stopped the command.
func canceled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errCanceled
	}
	return err
}

func roundedTime(d time.Duration) time.Duration {
	switch {
	case d > 10*time.Second:
		return d.Round(100 * time.Millisecond)
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	default:
		return d.Round(100 * time.Microsecond)
	}
}

// isTerminal reports whether a reader or writer is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth returns the columns of a terminal; 0 when the stream is none, for no limit.
func terminalWidth(stream any) int {
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
