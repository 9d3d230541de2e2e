package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

const (
	// fullFor is how long an org that has all the streams it may have is not counted again.
	fullFor = time.Second
	// maxFull bounds the orgs of which that is remembered.
	maxFull = 1000
	// fullWait is what a sender of a new stream is told to wait: only an operator or a dropped database makes room.
	fullWait = 30 * time.Second
)

// streamLimits keeps orgs from having more named streams than they may. What it remembers spares the catalog questions; the catalog has
// the last word, since processes may register at the same moment. Its mutex is never held across a question.
type streamLimits struct {
	mu    sync.Mutex
	full  map[tenant.ID]fullOrg
	turns map[tenant.ID]*orgTurn // of orgs whose streams are registered
}

// orgTurn lets writes of one org register streams one after another.
type orgTurn struct {
	taken chan struct{} // holds one
	users int           // that have or want it
}

// fullOrg is what was found of an org without room.
type fullOrg struct {
	until time.Time
	known map[signal.Stream]bool
}

// limitStreams returns the batch without the rows of streams that the org may not have beside those it has, and counts them in refused.
// When none is left it fails with fault.Limited. Streams that exist are never refused. The caller releases the result's record when it
// is another batch than b.
func (g *Ingest) limitStreams(ctx context.Context, b *signal.Batch, refused *signal.RefusedSamples) (*signal.Batch, error) {
	limit := g.opts.MaxStreams(b.Stream.Org)
	if limit <= 0 {
		return b, nil
	}
	missing := []signal.Stream{b.Stream}
	if b.Stream.Signal == signal.Metrics && b.Stream.Name == "" {
		missing, _ = g.names.unknownMetrics(b)
	} else if g.names.known(b.Stream) != nil {
		return b, nil
	}
	if len(missing) == 0 {
		return b, nil
	}
	beyond, has, err := g.registerWithin(ctx, missing, limit)
	if err != nil || len(beyond) == 0 {
		return b, err
	}
	refusal := fault.New(fault.Limited, "stream %.128s would be one more than org %s may have: it has %d, the limit is %d (limits.%s); "+
		"streams that exist are still written", beyond[0].Name, b.Stream.Org, has, limit, limits.MaxGlobalStreamsPerUser).
		After(fullWait).For(limits.StreamLimit)
	if b.Stream.Name != "" {
		return nil, refusal
	}
	return withoutMetrics(ctx, b, beyond, refused, refusal)
}

// registerTries is how often streams are chosen anew because another process took the room meanwhile.
const registerTries = 5

// registerWithin registers those of the streams that the org may have and returns the others, with the number of streams that it has.
func (g *Ingest) registerWithin(ctx context.Context, missing []signal.Stream, limit int) (beyond []signal.Stream, has int, err error) {
	org := missing[0].Org
	l := &g.streams
	leave, err := l.enter(ctx, org)
	if err != nil {
		return nil, 0, err
	}
	defer leave()
	for range registerTries {
		of, ok := l.remembered(org)
		if !ok || g.deps.Clock.Now().After(of.until) || len(of.known) < limit {
			if of.known, err = g.streamsOf(ctx, org); err != nil {
				return nil, 0, err
			}
			l.forget(org)
		}
		has = len(of.known)
		var allowed []signal.Stream
		allowed, beyond = of.choose(missing, limit)
		if len(beyond) > 0 && has >= limit {
			l.remember(org, of.known, g.deps.Clock.Now())
		}
		if len(allowed) == 0 {
			return beyond, has, nil
		}
		err = g.names.registerWithin(ctx, allowed, limit)
		if !errors.Is(err, catalog.ErrTooManyStreams) {
			return beyond, has, err
		}
		l.forget(org) // what was known of it is no longer so
	}
	return nil, has, fault.Wrap(fault.Limited, err, "other writers took the streams that org %s had room for, %d times in a row; it may "+
		"have %d (limits.%s); send again", org, registerTries, limit, limits.MaxGlobalStreamsPerUser).
		After(time.Second).For(limits.StreamLimit)
}

// enter waits until no other write of the org registers streams. The caller calls leave.
func (l *streamLimits) enter(ctx context.Context, org tenant.ID) (leave func(), err error) {
	l.mu.Lock()
	t := l.turns[org]
	if t == nil {
		t = &orgTurn{taken: make(chan struct{}, 1)}
		l.turns[org] = t
	}
	t.users++
	l.mu.Unlock()
	giveUp := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		t.users--
		if t.users == 0 {
			delete(l.turns, org)
		}
	}
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken; giveUp() }, nil
	case <-ctx.Done():
		giveUp()
		return nil, fmt.Errorf("wait for other new streams of the org: %w", context.Cause(ctx))
	}
}

// remembered returns what is remembered of an org.
func (l *streamLimits) remembered(org tenant.ID) (of fullOrg, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of, ok = l.full[org]
	return of, ok
}

func (l *streamLimits) forget(org tenant.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.full, org)
}

// choose divides streams into those that the org has or has room for, in their order, and the others.
func (o fullOrg) choose(missing []signal.Stream, limit int) (allowed, beyond []signal.Stream) {
	room := limit - len(o.known)
	for _, s := range missing {
		switch {
		case o.known[s]:
			allowed = append(allowed, s)
		case room > 0:
			room--
			allowed = append(allowed, s)
		default:
			beyond = append(beyond, s)
		}
	}
	return allowed, beyond
}

// remember notes that an org has no room, for a while.
func (l *streamLimits) remember(org tenant.ID, known map[signal.Stream]bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.full) >= maxFull {
		clear(l.full)
	}
	if _, ok := l.full[org]; !ok {
		l.full[org] = fullOrg{now.Add(fullFor), known}
	}
}

// streamsOf returns the named streams of an org.
func (g *Ingest) streamsOf(ctx context.Context, org tenant.ID) (map[signal.Stream]bool, error) {
	all, err := g.deps.Catalog.Streams(ctx, org)
	if err != nil {
		return nil, err
	}
	known := make(map[signal.Stream]bool, len(all))
	for _, s := range all {
		known[s.Stream] = true
	}
	return known, nil
}

// withoutMetrics returns a batch of metrics without the rows of some; refusal when nothing is left.
func withoutMetrics(ctx context.Context, b *signal.Batch, leave []signal.Stream, refused *signal.RefusedSamples, refusal *fault.Error) (
	*signal.Batch, error,
) {
	column := textColumn(b.Record, signal.MetricColumn)
	j := &judgement{}
	left := make(map[string]bool, len(leave))
	for _, s := range leave {
		left[s.Name] = true
	}
	dropped := 0
	for row := range column.Len() {
		if left[column.Value(row)] {
			j.drop(row, column.Len())
			dropped++
		}
	}
	if dropped == column.Len() {
		return nil, refusal
	}
	kept, err := j.rows(ctx, b.Record)
	if err != nil {
		return nil, err
	}
	refused.Join(&signal.RefusedSamples{NewStream: dropped, FirstNewStream: refusal.Message})
	rest := *b
	rest.Record, rest.Block = kept, nil
	return &rest, nil
}
