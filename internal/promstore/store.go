package promstore

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/storage"

	"github.com/millstream/millstream/internal/tenant"
)

// Store shows metrics to the Prometheus engine.
type Store struct {
	opts    Options
	deps    Deps
	names   *names
	tables  *tables
	cache   *cache
	readers sync.Pool // of *columnar.SeriesReader, without a file
	metrics *metrics
}

// New returns a store. It starts nothing and needs no closing.
func New(opts Options, deps Deps) *Store {
	s := &Store{opts: opts.withDefaults(), deps: deps.withDefaults(), metrics: newMetrics(deps.Registerer)}
	s.names, s.tables, s.cache = newNames(s.deps.Catalog, s.deps.Clock), newTables(), newCache(s.opts.CacheBytes)
	return s
}

// Queryable returns the metrics of one database of one org. A database that does not exist has none.
func (s *Store) Queryable(org tenant.ID, database string) storage.Queryable {
	return storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) {
		return &querier{store: s, org: org, database: database, mint: mint, maxt: maxt}, nil
	})
}

type metrics struct {
	samples prometheus.Counter
	series  prometheus.Counter
	groups  *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		samples: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millstream_promql_samples_total", Help: "Samples that PromQL queries loaded.",
		}),
		series: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millstream_promql_series_total", Help: "Series that PromQL queries loaded.",
		}),
		groups: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_promql_row_groups_total", Help: "Row groups of metrics files that PromQL queries read, or left out by their bounds.",
		}, []string{"outcome"}),
	}
	m.groups.WithLabelValues("read")
	m.groups.WithLabelValues("pruned")
	if reg != nil {
		reg.MustRegister(m.samples, m.series, m.groups)
	}
	return m
}
