package app

import (
	"context"
	"errors"

	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/cluster"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/promstore"
	"github.com/millstream/millstream/internal/router"
)

// makePromQL makes what answers PromQL from the data that this process can read.
func (n *node) makePromQL() {
	kept := n.config.Querier.MetricsCache
	if kept == 0 {
		kept = -1
	}
	store := promstore.New(promstore.Options{CacheBytes: kept}, promstore.Deps{
		Catalog: n.catalog, Buffers: n.fresh, Files: n.files, Retention: n.visible, Limits: n.limits.For, Clock: clock.System{},
		Logger: n.component("promstore"), Registerer: n.metrics,
	})
	n.promql = promapi.New(promapi.Options{Timeout: n.config.Querier.Timeout, Version: version}, promapi.Deps{
		Metrics: store, Limits: n.limits.For, Clock: clock.System{}, Logger: n.component("promql"),
	})
}

// promForwarder hands questions of the Prometheus API to queriers in turn.
type promForwarder struct{ *node }

// Answer implements promapi.Answerer.
func (f promForwarder) Answer(ctx context.Context, q promapi.Question) (a promapi.Answer) {
	err := f.router.InTurn(ctx, func(m cluster.Node) error {
		if m.ID == f.self.ID && f.guard != nil {
			a = f.guard.Answer(ctx, q)
			if errors.Is(a.Err, router.ErrBusy) {
				return a.Err
			}
			return nil
		}
		peer, err := f.peers.Peer(m.Address)
		if err != nil {
			return err
		}
		a, err = peer.AnswerPromQL(ctx, q)
		return err
	})
	if err != nil {
		return promapi.Failure(err)
	}
	return a
}

// Read implements promapi.Reader. Another querier is asked while nothing of the answer has come.
func (f promForwarder) Read(ctx context.Context, q promapi.ReadRequest, send func([]byte) error) error {
	return f.router.InTurn(ctx, func(m cluster.Node) error {
		if m.ID == f.self.ID && f.guard != nil {
			return f.guard.Read(ctx, q, send)
		}
		peer, err := f.peers.Peer(m.Address)
		if err != nil {
			return err
		}
		return peer.ReadPrometheus(ctx, q, send)
	})
}
