package cluster

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/fault"
)

// patience bounds how long a caller that could do with an old view waits for a new one.
const patience = 500 * time.Millisecond

// retryAfter is what clients are told while there is no view.
const retryAfter = 2 * time.Second

// cache keeps the last good view and lets callers share the question for the next.
type cache struct {
	observe func(ctx context.Context, known int64) (*View, error)
	clock   clock.Clock
	log     *slog.Logger
	metrics *metrics
	maxAge  time.Duration
	timeout time.Duration // of a question without a view to fall back on

	mu struct {
		sync.Mutex
		last    *View     // nil before the first
		at      time.Time // when last was asked for
		failing bool      // the last question had no answer
		asking  chan struct{}
	}
}

func (c *cache) current() *View {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.last
}

func (c *cache) stale() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := c.clock.Now().Sub(c.mu.at); c.mu.last != nil && age > c.maxAge {
		return age
	}
	return 0
}

// view returns a view that is fresh, or as fresh as can be had without waiting for a database that does not answer.
func (c *cache) view(ctx context.Context) (*View, error) {
	c.mu.Lock()
	last, usable := c.mu.last, c.mu.last != nil && (c.mu.failing || c.clock.Now().Sub(c.mu.at) <= c.maxAge)
	c.mu.Unlock()
	if usable {
		return last, nil
	}
	timeout := c.timeout
	if last != nil {
		timeout = min(timeout, patience)
	}
	c.refresh(ctx, timeout)
	if v := c.current(); v != nil {
		return v, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, fault.New(fault.Unavailable, "the members of the cluster are not known yet: the catalog is not available").After(retryAfter)
}

// refresh asks for a view, or waits for the answer to a question that is on its way, as long as ctx lets it. A question that has been
// asked goes on until its timeout, since the answer is everybody's.
func (c *cache) refresh(ctx context.Context, timeout time.Duration) {
	known, asking, mine := c.ask()
	if !mine {
		select {
		case <-asking:
		case <-ctx.Done():
		}
		return
	}
	defer close(asking)
	shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	at := c.clock.Now()
	v, err := c.observe(shared, known)
	c.metrics.called("observe", err)
	switch changed, turned := c.keep(v, err, at); {
	case turned && err != nil:
		c.log.WarnContext(ctx, "members not read; going on with the last view", "error", err)
	case turned:
		c.log.InfoContext(ctx, "members read again", "epoch", v.Epoch)
	case changed:
		c.log.InfoContext(ctx, "members changed", "epoch", v.Epoch, "nodes", len(v.Listed()))
	}
}

// ask returns the channel that is closed with the next answer. mine is set when nobody has asked yet: then the caller asks, with the
// epoch known, and closes the channel.
func (c *cache) ask() (known int64, asking chan struct{}, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.last != nil {
		known = c.mu.last.Epoch
	}
	if c.mu.asking != nil {
		return known, c.mu.asking, false
	}
	c.mu.asking = make(chan struct{})
	return known, c.mu.asking, true
}

// keep stores an answer. changed tells of a new epoch, turned that answers have begun or ceased to come. A view of the same epoch is
// the same view, so the old one stays with the table that it has computed.
func (c *cache) keep(v *View, err error, at time.Time) (changed, turned bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.asking = nil
	turned = c.mu.failing != (err != nil)
	c.mu.failing = err != nil
	if err != nil {
		return false, turned
	}
	changed = c.mu.last == nil || c.mu.last.Epoch != v.Epoch
	if changed {
		c.mu.last = v
	}
	c.mu.at = at
	return changed, turned
}
