package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// maxNodes is how many intake nodes are tried for one batch (seed 003).
const maxNodes = 3

// Write implements ingress.Writer: it returns nil when an intake node has made every batch durable. After an error none, some or all
// of the rows may be stored; the message tells what is certain.
func (r *Router) Write(ctx context.Context, batches ...*signal.Batch) error {
	view, err := r.deps.Members.View(ctx)
	if err != nil {
		return err
	}
	if len(view.Members[cluster.RoleIntake]) == 0 {
		return ErrNoIntake
	}
	stored := 0
	var refused signal.RefusedSamples
	for _, b := range batches {
		n, err := r.writeBatch(ctx, view, b, &refused)
		stored += n
		if err != nil {
			return explainPart(err, stored)
		}
	}
	if refused.Rows() > 0 {
		return &refused
	}
	return nil
}

// explainPart adds how many rows of a request are stored to the error of the others.
func explainPart(err error, stored int) error {
	if stored == 0 {
		return err
	}
	f := fault.Wrap(fault.KindOf(err), err, "%d rows of the batch are stored; the others: %s", stored, fault.Message(err))
	f.RetryAfter = fault.RetryAfter(err)
	return f
}

// writeBatch forwards one batch, in parts when its rows have several owners, and returns how many rows are stored for certain. Samples
// that can never be stored are no error; they are added to refused.
func (r *Router) writeBatch(ctx context.Context, view *cluster.View, b *signal.Batch, refused *signal.RefusedSamples) (
	stored int, err error,
) {
	parts, err := split(ctx, view, b)
	if err != nil {
		return 0, err
	}
	if len(parts) == 1 {
		if err := withoutSamples(r.forward(ctx, view, parts[0]), refused); err != nil {
			return 0, err
		}
		return b.Rows(), nil
	}
	defer func() {
		for _, p := range parts {
			p.batch.Release()
		}
	}()
	errs := make([]error, len(parts))
	var g errgroup.Group
	for i, p := range parts {
		g.Go(func() error {
			errs[i] = r.forward(ctx, view, p)
			return nil
		})
	}
	_ = g.Wait() // the errors are in errs
	for i := range errs {
		if errs[i] = withoutSamples(errs[i], refused); errs[i] == nil {
			stored += parts[i].batch.Rows()
		}
	}
	return stored, errors.Join(errs...)
}

// withoutSamples moves refused samples from an error to refused.
func withoutSamples(err error, refused *signal.RefusedSamples) error {
	if samples, ok := errors.AsType[*signal.RefusedSamples](err); ok {
		refused.Join(samples)
		return nil
	}
	return err
}

// forward gives a part to the first owner that takes it.
func (r *Router) forward(ctx context.Context, view *cluster.View, p part) error {
	b := *p.batch
	b.ID = r.ids.next()
	var err error
	if b.Block, err = r.codec.Append(nil, b.Record.Schema(), b.Record); err != nil {
		return fault.Wrap(fault.Internal, err, "encode a batch of %s", b.Stream)
	}
	release, err := r.hold(ctx, b.Stream.Org, int64(len(b.Block)))
	if err != nil {
		return err
	}
	defer release()
	var last error
	for i, n := range view.Owners(p.slot, maxNodes) {
		outcome, err := r.try(ctx, n, &b)
		r.metrics.forwards.WithLabelValues(outcome.String()).Inc()
		switch {
		case outcome == Stored:
			if i > 0 {
				r.metrics.fallbacks.Inc()
			}
			return err
		case outcome == Unknown:
			return unknownOutcome(ctx, n, err)
		case outcome == Refused && fault.KindOf(err) != fault.Unavailable:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		r.deps.Logger.Warn("intake node did not take a batch",
			"node", n.ID, "outcome", outcome.String(), "stream", b.Stream.String(), "error", err)
		if last == nil || outcome == Refused {
			last = err
		}
	}
	if errors.Is(last, ErrUnreachable) || last == nil {
		return fault.Wrap(fault.Unavailable, last, "%s", ErrNoIntake.Message)
	}
	return last
}

// try gives a batch to one node, and asks once more when the answer was lost.
func (r *Router) try(ctx context.Context, n cluster.Node, b *signal.Batch) (Outcome, error) {
	node, err := r.deps.Nodes.Intake(n)
	if err != nil {
		return NotSent, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	outcome, err := node.Append(ctx, b)
	if outcome != Unknown || ctx.Err() != nil {
		return outcome, err
	}
	// Only a yes tells more: a refusal now says nothing of the first time.
	if again, againErr := node.Append(ctx, b); again == Stored {
		return Stored, nil
	} else if againErr != nil {
		err = errors.Join(err, againErr)
	}
	return Unknown, err
}

// unknownOutcome is the error for a batch that may be stored.
func unknownOutcome(ctx context.Context, n cluster.Node, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fault.Wrap(fault.Unavailable, err, "outcome unknown: intake node %s did not answer, the rows may be stored or not", n.ID)
}

// maxForwardWait bounds how long a batch waits for others to arrive before it is refused.
const maxForwardWait = 5 * time.Second

// hold counts n bytes against what may be on its way, until release is called. It waits for room and then fails with fault.Unavailable.
func (r *Router) hold(ctx context.Context, org tenant.ID, n int64) (release func(), err error) {
	ok, err := r.onWay.Take(ctx, org, n, maxForwardWait, nil)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fault.New(fault.Unavailable, "batches of org %s on their way to intake nodes hold %d bytes, its share of what all may "+
			"hold (router.forward_memory_max is %d): send slower", org, r.onWay.Of(org), r.onWay.Max()).After(time.Second)
	}
	return func() { r.onWay.Release(org, n) }, nil
}
