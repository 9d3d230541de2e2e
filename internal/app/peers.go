package app

import (
	"context"
	"errors"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/catalog"
	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/config"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/fresh"
	"github.com/millstream/millstream/internal/ingest"
	"github.com/millstream/millstream/internal/querier/holders"
	"github.com/millstream/millstream/internal/router"
	"github.com/millstream/millstream/internal/rpc"
	"github.com/millstream/millstream/internal/signal"
)

// others implements router.Nodes: a role of this process is called directly, any other over rpc.
type others struct{ *node }

// Intake implements router.Nodes.
func (o others) Intake(n cluster.Node) (router.Intake, error) {
	if n.ID == o.self.ID && o.ingest != nil {
		return localIntake(o), nil
	}
	return o.peers.Peer(n.Address)
}

// Querier implements router.Nodes.
func (o others) Querier(n cluster.Node) (answer.Answerer, error) {
	if n.ID == o.self.ID && o.querier != nil {
		return o.guard, nil
	}
	return o.peers.Peer(n.Address)
}

// localIntake is the intake of this process.
type localIntake struct{ *node }

// Append implements router.Intake.
func (l localIntake) Append(ctx context.Context, b *signal.Batch) (router.Outcome, error) {
	err := l.ingest.Write(ctx, b)
	_, samples := errors.AsType[*signal.RefusedSamples](err)
	switch {
	case err == nil, samples:
		return router.Stored, err
	case ingest.IsRefused(err):
		return router.Refused, err
	default:
		return router.Unknown, err
	}
}

// holder returns the process at an address as the reader of fresh rows sees it.
func (n *node) holder(address string) (holders.Holder, error) {
	if address == n.self.Address && n.ingest != nil {
		return localHolder{n.ingest}, nil
	}
	if address == "" {
		return nil, fault.New(fault.Unavailable, "the writer has no address: it is a process that only it can read itself")
	}
	return n.peers.Peer(address)
}

// localHolder is the buffers of this process.
type localHolder struct{ *ingest.Ingest }

// Snapshot implements holders.Holder.
func (l localHolder) Snapshot(ctx context.Context, q fresh.Request) (fresh.Result, []catalog.WriterKey, error) {
	return l.Hold(ctx, q)
}

// services is what this process offers to other nodes.
func (n *node) services() rpc.Services {
	s := rpc.Services{Refused: ingest.IsRefused, Open: n.open}
	if n.ingest != nil {
		s.Appender, s.Holder = n.ingest, n.ingest
	}
	if n.querier != nil && !n.config.Node.IsStandalone() {
		s.Answerer, s.PromQL, s.PromRead = counted{n.guard, &n.asked}, n.guard, n.guard
	}
	if n.config.Node.IsStandalone() {
		s.Appender = nil // nobody forwards to it
	}
	return s
}

// open returns nil while other nodes may give this one batches and statements.
func (n *node) open() error {
	if n.closing.Load() {
		return fault.New(fault.Unavailable, "this node is draining")
	}
	return nil
}

// offersPeers reports whether the process opens the internal port.
func (n *node) offersPeers() bool {
	return n.config.Cluster.Token.IsSet() && (n.has(config.IntakeRole) || n.has(config.QueryRole))
}
