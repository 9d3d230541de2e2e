package app

import (
	"context"
	"time"

	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/fault"
)

// operators implements httpapi.Cluster.
type operators struct{ *node }

// View implements httpapi.Cluster.
func (o operators) View(ctx context.Context) (*cluster.View, error) { return o.members.View(ctx) }

// Statuses implements httpapi.Cluster. A process that is alone is always the only one.
func (o operators) Statuses(ctx context.Context) ([]cluster.Status, error) {
	if o.store != nil {
		return o.store.Statuses(ctx)
	}
	self := cluster.Status{Node: o.self, Started: o.began, HeartbeatAt: time.Now().UTC()}
	self.State = cluster.StateActive
	if o.ingest != nil {
		self.UnflushedRows, _ = o.ingest.Unflushed()
	}
	return []cluster.Status{self}, nil
}

// RequestDrain implements httpapi.Cluster.
func (o operators) RequestDrain(ctx context.Context, node string) (cluster.Drain, error) {
	if o.store == nil {
		return cluster.Drain{}, fault.New(fault.Invalid, "a standalone process without a cluster is drained by stopping it (SIGTERM)")
	}
	return o.store.RequestDrain(ctx, node)
}

// Drains implements httpapi.Cluster.
func (o operators) Drains(ctx context.Context) ([]cluster.Drain, error) {
	if o.store == nil {
		return nil, nil
	}
	return o.store.Drains(ctx)
}
