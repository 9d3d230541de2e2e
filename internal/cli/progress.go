package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// plainEvery is how often progress is told where there is no terminal to draw on.
const plainEvery = 5 * time.Second

// progress shows how far a long job is: a bar with rate and remaining time on a terminal, else a line now and then.
type progress struct {
	w       io.Writer
	bar     *progressbar.ProgressBar // nil: lines
	name    string
	total   int64 // 0 = not known
	bytes   bool  // total counts bytes; rows otherwise
	started time.Time
	told    time.Time
	first   int64 // where this run began, for the rate
}

// newProgress shows the progress of a job called name from first to total.
func newProgress(w io.Writer, name string, first, total int64, bytes bool) *progress {
	p := &progress{w: w, name: name, total: total, bytes: bytes, first: first, started: time.Now(), told: time.Now()}
	if !isTerminal(w) {
		return p
	}
	const width, refresh = 24, 100 * time.Millisecond
	limit := total
	if limit <= 0 {
		limit = -1 // a spinner
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(name), progressbar.OptionSetWidth(width),
		progressbar.OptionThrottle(refresh), progressbar.OptionShowBytes(bytes), progressbar.OptionShowCount(),
		progressbar.OptionSetItsString("rows"), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(limit > 0), progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSpinnerType(14), progressbar.OptionUseANSICodes(true),
	}
	if !bytes {
		options = append(options, progressbar.OptionShowIts())
	}
	p.bar = progressbar.NewOptions64(limit, options...)
	if first > 0 {
		p.draw(first)
	}
	return p
}

// at tells that done of the total is done. rows are all rows sent in this run.
func (p *progress) at(done, rows int64) {
	if p.bar != nil {
		if p.bytes {
			p.bar.Describe(fmt.Sprintf("%s  %s/s", p.name, plural(p.rate(rows), "row")))
		}
		p.draw(done)
		return
	}
	if time.Since(p.told) < plainEvery {
		return
	}
	p.told = time.Now()
	fmt.Fprintf(p.w, "%s: %s%s, %s (%s rows/s)\n", p.name, p.share(done), p.remaining(done), plural(rows, "row"), thousands(p.rate(rows)))
}

// draw never lets the bar reach its end, which only finish may.
func (p *progress) draw(done int64) {
	if p.total > 0 {
		done = min(done, p.total-1)
	}
	_ = p.bar.Set64(done) // a terminal that cannot be drawn on is no reason to stop
}

func (p *progress) rate(rows int64) int64 {
	return int64(float64(rows) / max(time.Since(p.started).Seconds(), 0.001))
}

func (p *progress) share(done int64) string {
	const mebi = 1 << 20
	switch {
	case p.total > 0 && p.bytes:
		return fmt.Sprintf("%d%% of %.1f MiB", 100*done/p.total, float64(p.total)/mebi)
	case p.total > 0:
		return fmt.Sprintf("%d%% of %s", 100*done/p.total, plural(p.total, "row"))
	default:
		return fmt.Sprintf("%.1f MiB", float64(done)/mebi)
	}
}

// remaining estimates the time to the end from the speed of this run.
func (p *progress) remaining(done int64) string {
	if p.total <= 0 || done <= p.first {
		return ""
	}
	left := time.Duration(float64(time.Since(p.started)) * float64(p.total-done) / float64(done-p.first))
	return fmt.Sprintf(", %v left", left.Round(time.Second))
}

// say prints a line above the bar.
func (p *progress) say(format string, args ...any) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintf(p.w, format+"\n", args...)
}

// finish takes the bar away.
func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
		_ = p.bar.Clear()
	}
}
