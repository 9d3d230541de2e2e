package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// demoOptions are the flags of millstream demo.
type demoOptions struct {
	connection
	rows, minutes, rate int
	seed                uint64
	live                bool
	retryFor            time.Duration
}

// demoStream is the name of the shop, and of its streams of logs and traces.
const demoStream = "storefront"

func demoCommand(s Streams) *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Send the logs, metrics and traces of an invented shop",
		Long: `Send the logs, metrics and traces of an invented shop: six services that browse, fill carts, take payments and ship. A visit is a
trace, its log lines carry the trace's id, and for some minutes the payment provider is slow. Logs go to the JSON intake
(logs.storefront), traces (traces.storefront) and metrics over OTLP. The same --seed makes the same visits.`,
		Example: `  millstream demo
  millstream demo --rows 1000000 --minutes 1440
  millstream demo --live --rate 200`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("seed") {
				o.seed = uint64(time.Now().UnixNano())
			}
			if o.live && !cmd.Flags().Changed("rate") {
				const calm = 50
				o.rate = calm
			}
			return runDemo(cmd.Context(), o, s)
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.IntVar(&o.rows, "rows", 20_000, "about so many `rows` of all three kinds")
	f.IntVar(&o.minutes, "minutes", 60, "spread them over the last `minutes`")
	f.IntVar(&o.rate, "rate", 0, "send so many `rows` a second (0 = as fast as possible; --live: 50)")
	f.BoolVar(&o.live, "live", false, "go on with visits of now until Ctrl-C")
	f.Uint64Var(&o.seed, "seed", 0, "`number` that decides about the visits (default: another one each time)")
	f.DurationVar(&o.retryFor, "retry-for", time.Minute, "how `long` to repeat a request before giving up")
	return cmd
}

func runDemo(ctx context.Context, o demoOptions, s Streams) error {
	if o.rows < 1 || o.minutes < 1 || o.rate < 0 {
		return usagef("--rows and --minutes must be above zero, --rate not negative")
	}
	c, err := o.client()
	if err != nil {
		return err
	}
	span := time.Duration(o.minutes) * time.Minute
	end := time.Now().UTC().Truncate(time.Millisecond)
	d := &demo{
		options: o, shop: newShop(o.seed, end.Add(-span), span, o.rows),
		sender: demoSender{client: c, retryFor: o.retryFor},
	}
	d.progress = newProgress(s.Err, "shop", 0, int64(o.rows), false)
	d.sender.say = d.progress.say
	err = d.history(ctx, end)
	d.progress.finish()
	if err != nil {
		return canceled(ctx, err)
	}
	n := d.sender.sent
	fmt.Fprintf(s.Out, "Sent %s, %s and %s of the last %d minutes (seed %d).\n", plural(n.logs, "log line"), plural(n.spans, "span"),
		plural(n.points, "metric point"), o.minutes, o.seed)
	writeDemoQueries(s.Out, o.arguments())
	if !o.live {
		return nil
	}
	fmt.Fprintf(s.Out, "\nGoing on with about %d rows a second until Ctrl-C; look on with\n  %s tail logs.%s%s\n", o.rate, program(),
		demoStream, o.arguments())
	if err := d.goOn(ctx, end); ctx.Err() == nil {
		return err
	}
	return nil
}

// demoQueries return rows after every demo.
func demoQueries() []string {
	return []string{
		"SELECT service, level, count(*) AS lines FROM logs.storefront GROUP BY service, level ORDER BY lines DESC",
		"SELECT _timestamp, service, level, message FROM logs.storefront WHERE trace_id = " +
			"(SELECT trace_id FROM traces.storefront ORDER BY duration_ns DESC LIMIT 1) ORDER BY _timestamp",
		"SELECT service, max(value) AS requests FROM metrics.http_requests_total GROUP BY service ORDER BY requests DESC",
	}
}

func writeDemoQueries(w io.Writer, arguments string) {
	fmt.Fprintf(w, "\nAsk, for example, who logs what; what happened in the slowest visit; who has the most requests:\n\n")
	for _, q := range demoQueries() {
		fmt.Fprintf(w, "  %s query%s %s\n", program(), arguments, shellQuote(q))
	}
}

// program is how the user called this program.
func program() string {
	if name := os.Args[0]; strings.HasPrefix(filepath.Base(name), "millstream") {
		return shellQuote(name)
	}
	return "millstream"
}

// demo sends what the shop produces.
type demo struct {
	options  demoOptions
	shop     *shop
	sender   demoSender
	progress *progress
}

// rowsPerVisit is the average number of log lines and spans of a visit.
const rowsPerVisit = 4.5

// history sends the visits up to end.
func (d *demo) history(ctx context.Context, end time.Time) error {
	const batchVisits = 300
	span := time.Duration(d.options.minutes) * time.Minute
	points := d.shop.pointsOver(span)
	visits := max(int(float64(d.options.rows-points)/rowsPerVisit), 1)
	step := span / time.Duration(visits)
	started := time.Now()
	at := end.Add(-span)
	for i := range visits {
		d.shop.visit(at)
		at = at.Add(step)
		d.shop.scrape(at)
		if (i+1)%batchVisits != 0 && i+1 < visits {
			continue
		}
		if err := d.sender.send(ctx, d.shop.take()); err != nil {
			return err
		}
		rows := d.sender.sent.rows()
		d.progress.at(rows, rows)
		if err := d.pace(ctx, started, rows); err != nil {
			return err
		}
	}
	return nil
}

// pace waits until rows may have been sent since started.
func (d *demo) pace(ctx context.Context, started time.Time, rows int64) error {
	if d.options.rate == 0 {
		return nil
	}
	due := time.Duration(float64(rows) / float64(d.options.rate) * float64(time.Second))
	return sleep(ctx, due-time.Since(started))
}

// goOn sends visits as time passes.
func (d *demo) goOn(ctx context.Context, from time.Time) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	step := time.Duration(rowsPerVisit * float64(time.Second) / float64(max(d.options.rate, 1)))
	for at := from; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		for now := time.Now().Add(-longestVisit); at.Before(now); at = at.Add(step) {
			d.shop.visit(at)
			d.shop.scrape(at)
		}
		if err := d.sender.send(ctx, d.shop.take()); err != nil {
			return err
		}
	}
}

// demoCounts counts what was sent.
type demoCounts struct{ logs, spans, points int64 }

func (c demoCounts) rows() int64 { return c.logs + c.spans + c.points }

// demoSender posts what the shop produced.
type demoSender struct {
	client   *client
	retryFor time.Duration
	say      func(format string, args ...any)
	sent     demoCounts
}

func (s *demoSender) send(ctx context.Context, d shopData) error {
	requests := []struct {
		path, media string
		body        func() ([]byte, error)
		count       int
		sent        *int64
	}{
		{"/api/v1/intake/logs/" + demoStream, mediaNDJSON, func() ([]byte, error) { return d.logs.Bytes(), nil }, d.lines, &s.sent.logs},
		{"/api/v1/intake/otlp/v1/traces", mediaProtobuf, d.tracesBody, d.traces.SpanCount(), &s.sent.spans},
		{"/api/v1/intake/otlp/v1/metrics", mediaProtobuf, d.metricsBody, d.metrics.DataPointCount(), &s.sent.points},
	}
	for _, r := range requests {
		if r.count == 0 {
			continue
		}
		body, err := r.body()
		if err != nil {
			return fmt.Errorf("encode for %s: %w", r.path, err)
		}
		giveUp := s.retryFor
		if s.sent.rows() == 0 {
			giveUp = 0 // a server that is not there yet is a mistake rather than a hiccup
		}
		retry := newRetrier(giveUp, s.say)
		header := http.Header{"Content-Type": {r.media}, "X-Millstream-Stream": {demoStream}}
		if err := retry.do(ctx, func() error { _, err := s.client.post(ctx, r.path, body, header); return err }); err != nil {
			return err
		}
		*r.sent += int64(r.count)
	}
	return nil
}
