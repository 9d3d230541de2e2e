package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// tailOptions are the flags of millstream tail.
type tailOptions struct {
	connection
	where, output string
	since         time.Duration
	last          int
	lateness      time.Duration
	poll          time.Duration
	all           bool // show all rows of since: -n is not given
}

func tailCommand(s Streams) *cobra.Command {
	var o tailOptions
	cmd := &cobra.Command{
		Use:   "tail STREAM",
		Short: "Follow the new rows of a stream",
		Long: `Show the last rows of a stream and then new ones as they come, until Ctrl-C.

Rows are shown in the order of their time, none twice and none left out if it arrives within --lateness of its own time; a row that
comes later than that does not appear, one that comes late but in time appears behind newer ones. A stream of many rows a second
wants a small --lateness, since each look at the stream reads that span again. While the server is away, tail waits for it and then
shows what came meanwhile.`,
		Example: `  millstream tail logs.app
  millstream tail app --where "level = 'error' AND service = 'pay'"
  millstream tail app --since 5m            # all rows of the last five minutes, then new ones
  millstream tail app -n 0 -o ndjson | jq .message`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.all = o.since > 0 && !cmd.Flags().Changed("last")
			return runTail(cmd.Context(), o, args[0], s)
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.where, "where", "", "only rows that fulfill this `condition` of SQL")
	f.DurationVar(&o.since, "since", 0, "begin with the rows of the last `time`; all of them without -n")
	f.IntVarP(&o.last, "last", "n", 10, "show the last `rows` first")
	f.DurationVar(&o.lateness, "lateness", 10*time.Second, "how `late` a row may arrive and still be shown")
	f.DurationVar(&o.poll, "interval", time.Second, "`time` between looks at the stream")
	f.StringVarP(&o.output, "output", "o", "text", "`format` of the rows: text or ndjson")
	return cmd
}

func runTail(ctx context.Context, o tailOptions, name string, s Streams) error {
	stream, err := parseStream(name)
	switch {
	case err != nil:
		return err
	case o.output != "text" && o.output != "ndjson":
		return usagef("output format %q is not text or ndjson", o.output)
	case o.last < 0, o.since < 0, o.lateness <= 0, o.poll <= 0:
		return usagef("-n and --since must not be negative, --lateness and --interval be above zero")
	}
	c, err := o.client()
	if err != nil {
		return err
	}
	f := &follower{options: o, client: c, stream: stream, out: s.Out, seen: map[rowKey]*sighting{}}
	err = f.start(ctx)
	if err == nil {
		err = f.follow(ctx, func(err error) { fmt.Fprintln(s.Err, "millstream:", err, "(trying again)") })
	}
	if ctx.Err() != nil {
		return nil // Ctrl-C is how tail ends
	}
	return err
}

// follow looks at the stream again and again until the context ends or the server refuses for good. Each failure in a row that may
// pass is told once.
func (f *follower) follow(ctx context.Context, failing func(error)) error {
	var told string
	for failures := 0; ; {
		wait := f.options.poll
		if failures > 0 {
			wait = max(wait, backoff(failures, nil))
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		err := f.look(ctx, f.show)
		switch {
		case err == nil:
			failures, told = 0, ""
		case ctx.Err() != nil:
			return ctx.Err()
		case !temporary(err) && !isCutAnswer(err):
			return err
		default:
			failures++
			if told == "" {
				failing(err)
			}
			told = err.Error()
		}
	}
}

func isCutAnswer(err error) bool {
	var incomplete *incompleteError
	return errors.As(err, &incomplete)
}

// serverTime returns the server's clock when it sent an answer's header, in whole seconds, so that clocks of client and server need
// not agree.
func serverTime(res *http.Response) time.Time {
	if at, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}
