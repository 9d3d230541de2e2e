package app

import (
	"github.com/millstream/millstream/internal/clock"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/promstore"
)

// makePromQL makes what answers PromQL from the data that this process can read.
func (n *node) makePromQL() {
	store := promstore.New(promstore.Options{}, promstore.Deps{
		Catalog: n.catalog, Buffers: n.buffers(), Files: n.files, Retention: n.retention, Clock: clock.System{},
		Logger: n.component("promstore"), Registerer: n.metrics,
	})
	n.promql = promapi.New(promapi.Options{Timeout: n.queryTimeout(), Version: version}, promapi.Deps{
		Metrics: store, Clock: clock.System{}, Logger: n.component("promql"),
	})
}

// promAnswerer returns what answers the Prometheus API of this process, nil when it cannot.
func (n *node) promAnswerer() promapi.Answerer {
	if n.promql == nil {
		return nil
	}
	return n.promql
}
