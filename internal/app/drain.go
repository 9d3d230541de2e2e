package app

import (
	"context"
	"sync"
	"time"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/cluster"
)

// viewCache is how long others may go on with a view that has this node in it.
const viewCache = 2 * time.Second

// withdraw takes the node out of the member lists and serves on until the others know; then other nodes are refused.
func (n *node) withdraw(ctx context.Context) {
	defer n.closing.Store(true)
	n.leaveShares(ctx)
	m, ok := n.joined()
	if !ok {
		return
	}
	if err := m.Leave(ctx); err != nil {
		n.logger.Warn("the node's heartbeat row is not deleted; others see it go after the peer timeout", "error", err)
	}
	select {
	case <-time.After(viewCache):
	case <-ctx.Done():
	}
}

// obeyDrain waits for an order to drain and carries it out: the node leaves, finishes its work, flushes, and tells how far it is. The
// process goes on, empty and not ready, until it is stopped.
func (n *node) obeyDrain(ctx context.Context) error {
	m, ok := n.joined()
	if !ok {
		<-ctx.Done()
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-m.Drain():
	}
	n.serving.Store(false)
	n.withdraw(ctx)
	if err := n.asked.wait(ctx); err == nil && n.ingest != nil {
		n.drainIngest(ctx, m)
	}
	if ctx.Err() != nil {
		return nil
	}
	m.SetProgress(cluster.Progress{Phase: "drained"})
	for ctx.Err() == nil {
		err := m.EndDrain(ctx)
		if err == nil {
			n.logger.Info("drained: this process holds no rows any more")
			break
		}
		n.logger.Warn("the end of the drain is not recorded yet", "error", err)
		pause(ctx, time.Second)
	}
	<-ctx.Done()
	return nil
}

// drainIngest flushes all rows and tells meanwhile how many are left.
func (n *node) drainIngest(ctx context.Context, m *cluster.Membership) {
	done := make(chan struct{})
	var tell sync.WaitGroup
	tell.Go(func() {
		for {
			rows, _ := n.ingest.Unflushed()
			m.SetProgress(cluster.Progress{Phase: "flushing", UnflushedRows: rows})
			select {
			case <-done:
				return
			case <-time.After(time.Second):
			}
		}
	})
	if err := n.ingest.Drain(ctx); err != nil && ctx.Err() == nil {
		n.logger.Error("drain incomplete", "error", err)
	}
	close(done)
	tell.Wait()
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// asked counts the statements of other nodes that are being answered.
type asked struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed when n is 0; nil while nobody waits
}

func (a *asked) add(d int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n += d
	if a.n == 0 && a.empty != nil {
		close(a.empty)
		a.empty = nil
	}
}

// wait returns when no statement is being answered, or with ctx's error.
func (a *asked) wait(ctx context.Context) error {
	a.mu.Lock()
	if a.n == 0 {
		a.mu.Unlock()
		return nil
	}
	if a.empty == nil {
		a.empty = make(chan struct{})
	}
	empty := a.empty
	a.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// counted counts the statements that pass it.
type counted struct {
	*guard
	asked *asked
}

// Ask implements answer.Answerer.
func (c counted) Ask(ctx context.Context, q answer.Question) (answer.Result, error) {
	c.asked.add(1)
	result, err := c.guard.Ask(ctx, q)
	if err != nil {
		c.asked.add(-1)
		return nil, err
	}
	return countedResult{result, c.asked}, nil
}

type countedResult struct {
	answer.Result
	asked *asked
}

// Close implements answer.Result.
func (r countedResult) Close() error {
	defer r.asked.add(-1)
	return r.Result.Close()
}
