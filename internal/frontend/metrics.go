package frontend

import "github.com/prometheus/client_golang/prometheus"

// metrics count what becomes of queries that could be split.
type metrics struct {
	split *prometheus.CounterVec
	parts prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		split: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_query_split_total",
			Help: "Queries of orgs whose queries are split, by language and how they were answered: in parts, as a whole, or as a whole " +
				"after parts that did not fit together.",
		}, []string{"language", "outcome"}),
		parts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millstream_query_parts_total", Help: "Parts of split queries that were run.",
		}),
	}
	if reg != nil {
		reg.MustRegister(m.split, m.parts)
	}
	return m
}
