package work

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the work metrics of a process. Their names carry no prefix and no role, so a process makes them once and its divisions
// share them: members counts each node that any of them is divided among, active is 1 when all of them are.
type Metrics struct {
	owned   *prometheus.GaugeVec
	overlap prometheus.Counter

	members, active *prometheus.Desc

	mu struct {
		sync.Mutex
		divisions []*Division
	}
}

// NewMetrics returns the metrics of a process and registers them. It panics when the registerer has them already.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		owned: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "work_ownership_owned_units",
			Help: "Units of work that this node owned in its latest round, by kind of work.",
		}, []string{"work"}),
		overlap: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "work_overlap_skipped_total",
			Help: "Items skipped because another node had run them in the same period.",
		}),
		members: prometheus.NewDesc("work_ownership_members", "Nodes that this node sees sharing the work.", nil, nil),
		active:  prometheus.NewDesc("work_ownership_active", "1 when this node takes its share of the work, else 0.", nil, nil),
	}
	reg.MustRegister(m.overlap, m)
	return m
}

func (m *Metrics) add(d *Division) {
	for _, kind := range d.o.Kinds {
		m.owned.WithLabelValues(kind)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.divisions = append(m.mu.divisions, d)
}

func (m *Metrics) all() []*Division {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.mu.divisions)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.members
	ch <- m.active
	m.owned.Describe(ch)
}

// Collect implements prometheus.Collector. What follows from the view is computed when it is asked for.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	divisions := m.all()
	ids, active := map[string]bool{}, len(divisions) > 0
	for _, d := range divisions {
		for _, id := range d.ids() {
			ids[id] = true
		}
		active = active && d.Active()
		if d.o.Primary {
			m.owned.WithLabelValues(Primary).Set(number(d.IsPrimary()))
		}
	}
	ch <- prometheus.MustNewConstMetric(m.members, prometheus.GaugeValue, float64(len(ids)))
	ch <- prometheus.MustNewConstMetric(m.active, prometheus.GaugeValue, number(active))
	m.owned.Collect(ch)
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
