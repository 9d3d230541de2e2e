package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/millstream/millstream/internal/signal"
)

// importOptions are the flags of millstream import.
type importOptions struct {
	connection
	stream, stateDir       string
	format                 string
	batchRows, batchBytes  int
	retryFor               time.Duration
	allowRejected, restart bool
}

func importCommand(s Streams) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Load files of JSON lines, OpenMetrics files and Prometheus blocks",
		Long: `Load files of JSON lines into a stream, a JSON object a line. "-" reads standard input; names that end in .gz or .zst are inflated.

A FILE that is a folder is a Prometheus data folder or one block of it, a FILE whose name ends in .om or .openmetrics is OpenMetrics text
(--format says it of others): their samples, of any age, become metrics under their own names.

An import that was interrupted, even by kill -9 or a power cut, goes on where it stopped when the same command is given again: the
file FILE.millstream beside FILE (or in the folder --state names) holds how much of it is acknowledged. It stays after the end, so
that a second import of the same FILE loads nothing but what was appended since; --restart loads everything again. Where it is
unknown whether the last batch was stored, the server is asked for some of its rows, so no row is lost or stored twice as long as
nobody else sends the same rows at that moment and rows have fewer than 200 fields. Standard input cannot be resumed.

While the server is away or refuses for the moment, batches are sent again, at growing intervals and as late as it asks for. Rows
that the server refuses for good are counted, and the first of them listed; the exit code is then 1 unless --allow-rejected is given.`,
		Example: `  millstream import --stream logs.app app.jsonl
  millstream import --stream logs.web access-*.json.gz
  kubectl logs app | millstream import --stream app -
  millstream import /var/lib/prometheus/data history.om`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runImport(cmd.Context(), o, args, s) },
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.stream, "stream", "logs.import", "`name` of the stream, signal first: logs.app (app alone is logs.app)")
	f.StringVar(&o.format, "format", formatAuto, "json, openmetrics or blocks; `what` FILEs are instead of what they look like")
	f.StringVar(&o.stateDir, "state", "", "`folder` of the files that tell how far imports are (default: beside each FILE)")
	f.DurationVar(&o.retryFor, "retry-for", 5*time.Minute, "how `long` to repeat a batch before giving up")
	f.IntVar(&o.batchRows, "batch-rows", 10_000, "send at most so many `rows` at once (20000 at most)")
	f.BoolVar(&o.allowRejected, "allow-rejected", false, "exit with 0 although the server refused rows")
	f.BoolVar(&o.restart, "restart", false, "begin again, also with files that are loaded already")
	return cmd
}

// maxBatchRows and maxBatchBytes keep a batch within one write of the server (a chunk of wire), so that it is stored whole or not.
const (
	maxBatchRows  = 20_000
	maxBatchBytes = 4 << 20
)

func runImport(ctx context.Context, o importOptions, files []string, s Streams) error {
	if o.batchRows < 1 || o.batchRows > maxBatchRows {
		return usagef("--batch-rows is %d, not within 1 and %d", o.batchRows, maxBatchRows)
	}
	target, err := parseStream(o.stream)
	if err != nil {
		return err
	}
	c, err := o.client()
	if err != nil {
		return err
	}
	o.batchBytes = maxBatchBytes
	var rejected, stored int64
	for _, name := range files {
		n, refused, err := importOne(ctx, &importRun{
			options: o, client: c, stream: target, name: name, in: s.In, out: s.Err,
			target: importTarget{Addr: c.base, Org: c.org, Database: c.database, Stream: target.String()},
		})
		rejected += refused
		stored += n
		if err != nil {
			return stopped(ctx, name, err)
		}
	}
	if len(files) > 1 {
		fmt.Fprintf(s.Err, "%d files: %s stored\n", len(files), plural(stored, "row"))
	}
	if rejected > 0 && !o.allowRejected {
		return fmt.Errorf("%s refused", plural(rejected, "row"))
	}
	return nil
}

// importOne loads one file or folder and returns how many rows are stored, in this run, and refused, ever.
func importOne(ctx context.Context, run *importRun) (stored, rejected int64, err error) {
	parts, err := metricParts(run.options.format, run.name)
	if err != nil {
		return 0, 0, err
	}
	if parts == nil {
		err = run.run(ctx)
		return run.stored, run.state.Rejected, err
	}
	target := run.target
	target.Stream = signal.Metrics.String()
	of := &sampleImport{options: run.options, client: run.client, name: run.name, parts: parts, out: run.out}
	of.state = sampleState{Version: stateVersion, Target: target, Parts: make(map[string]partState)}
	err = of.run(ctx)
	return of.stored, of.state.Rejected, err
}

// stopped says how to go on after an import ended early.
func stopped(ctx context.Context, name string, err error) error {
	var usage *usageError
	switch {
	case errors.As(err, &usage), name == "-":
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s: interrupted; the same command goes on from here", name)
	default:
		return fmt.Errorf("%s: %w; the same command goes on from here", name, err)
	}
}

// streamName is a stream as the command line names it.
type streamName struct {
	signal signal.Signal
	name   string
}

// parseStream reads "logs.app" or "app"; names may have dots of their own.
func parseStream(text string) (streamName, error) {
	s := streamName{signal.Logs, text}
	if head, rest, ok := strings.Cut(text, "."); ok {
		if sig, known := signal.ParseSignal(head); known {
			s = streamName{sig, rest}
		}
	}
	if err := signal.CheckName("stream", s.name); err != nil {
		return s, usagef("%w", err)
	}
	return s, nil
}

// String returns "logs.app".
func (s streamName) String() string { return s.signal.String() + "." + s.name }

// sql returns the name for FROM.
func (s streamName) sql() string { return s.signal.String() + "." + quoteName(s.name) }

// path returns where the stream takes JSON.
func (s streamName) path() string {
	return "/api/v1/intake/" + s.signal.String() + "/" + url.PathEscape(s.name)
}

func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// importRun is the import of one file.
type importRun struct {
	options importOptions
	client  *client
	stream  streamName
	target  importTarget
	name    string
	in      io.Reader // what "-" means
	out     io.Writer

	state    importState
	store    *stateStore // nil for standard input
	progress *progress
	stored   int64 // rows stored in this run
	listed   int   // refused rows shown so far
}

func (r *importRun) run(ctx context.Context) error {
	src, err := openSource(r.name, r.in)
	if err != nil {
		return err
	}
	defer src.Close() //nolint:errcheck // a reader
	if err := r.restore(src); err != nil {
		return err
	}
	if r.state.Offset > 0 {
		if err := src.skip(r.state.Offset); err != nil {
			return err
		}
	}
	batches := newBatcher(src.plain, r.state.Offset, r.state.Line, r.options.batchRows, r.options.batchBytes)
	r.progress = newProgress(r.out, r.name, src.done(), src.size, true)
	err = r.load(ctx, src, batches)
	r.progress.finish()
	return errors.Join(err, r.summary(err))
}

// load sends batch after batch.
func (r *importRun) load(ctx context.Context, src *source, batches *batcher) error {
	pending := r.state.Pending // of the run before: it may be stored
	for {
		b, err := batches.next(pending)
		if err != nil {
			return err
		}
		r.reject(b.refused...)
		if err := r.send(ctx, b, pending); err != nil {
			return err
		}
		pending = nil
		r.state.Offset, r.state.Line = b.end, b.endLine
		r.progress.at(src.done(), r.stored)
		if b.last {
			return nil
		}
	}
}

// summary saves the state and tells what was done. failed is why the import ended early, nil if it did not.
func (r *importRun) summary(failed error) error {
	began := r.progress.started
	if failed == nil {
		r.state.Pending, r.state.Done = nil, true
	}
	err := r.save()
	if failed != nil {
		fmt.Fprintf(r.out, "%s: %s stored so far\n", r.name, plural(r.state.Accepted, "row"))
		return err
	}
	text := fmt.Sprintf("%s: %s stored in %s in %v", r.name, plural(r.stored, "row"), r.stream, roundedTime(time.Since(began)))
	switch {
	case r.stored == 0 && r.state.Accepted > 0:
		text = fmt.Sprintf("%s: nothing new: its %s are stored already (%s; --restart loads them again)", r.name,
			plural(r.state.Accepted, "row"), r.store.path)
	case r.state.Accepted > r.stored:
		text += fmt.Sprintf(", %s before", plural(r.state.Accepted-r.stored, "row"))
	}
	if r.state.Rejected > 0 {
		text += fmt.Sprintf("; %s refused", plural(r.state.Rejected, "row"))
	}
	fmt.Fprintln(r.out, text)
	return err
}

// reject counts refused lines and shows the first of them.
func (r *importRun) reject(lines ...refusedLine) {
	const most = 10
	for _, l := range lines {
		r.state.Rejected++
		r.listed++
		if r.listed <= most {
			r.progress.say("%s:%d: %s", r.name, l.line, printable(l.reason))
		}
		if r.listed == most {
			r.progress.say("(further refused rows are counted only)")
		}
	}
}
