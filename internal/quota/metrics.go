package quota

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/tenant"
)

// labels decides which budgets have series of their own: the first tenant.MaxLabels of a kind that ask. Those beyond are
// tenant.OtherLabel.
type labels struct {
	mu   sync.Mutex
	seen map[Budget]struct{}
}

// of returns the values of org and database.
func (l *labels) of(b Budget) []string {
	if !l.has(b) {
		return []string{tenant.OtherLabel, tenant.OtherLabel}
	}
	return []string{string(b.Org), b.Database}
}

func (l *labels) has(b Budget) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.seen[b]; ok {
		return true
	}
	if len(l.seen) >= tenant.MaxLabels {
		return false
	}
	if l.seen == nil {
		l.seen = map[Budget]struct{}{}
	}
	l.seen[b] = struct{}{}
	return true
}

// metrics tells of the budgets of one kind.
type metrics struct {
	usage                   func() []Usage
	labels                  labels
	refused                 *prometheus.CounterVec
	limit, allocation, debt *prometheus.Desc
}

// newMetrics registers the metrics of a kind, whose gauges are those of usage.
func newMetrics(kind Kind, usage func() []Usage, reg prometheus.Registerer) *metrics {
	names, constant := []string{"org", "database"}, prometheus.Labels{"kind": string(kind)}
	m := &metrics{
		usage: usage,
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_quota_refused_total", Help: "What a limit on writes refused here, in units of the kind.", ConstLabels: constant,
		}, names),
		limit:      prometheus.NewDesc("millstream_quota_limit", "The whole limit a second.", names, constant),
		allocation: prometheus.NewDesc("millstream_quota_allocation", "The part of the limit in force here, a second.", names, constant),
		debt:       prometheus.NewDesc("millstream_quota_debt", "What was taken too much here and is not paid yet.", names, constant),
	}
	if reg != nil {
		reg.MustRegister(m, m.refused)
	}
	return m
}

func (m *metrics) refuse(b Budget, n int64) {
	m.refused.WithLabelValues(m.labels.of(b)...).Add(float64(n))
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	out <- m.limit
	out <- m.allocation
	out <- m.debt
}

// Collect implements prometheus.Collector. Budgets beyond the bound have no gauges: a sum of limits would tell nothing.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	for _, u := range m.usage() {
		if u.Limit == 0 || !m.labels.has(u.Budget) {
			continue
		}
		values := m.labels.of(u.Budget)
		out <- prometheus.MustNewConstMetric(m.limit, prometheus.GaugeValue, float64(u.Limit), values...)
		out <- prometheus.MustNewConstMetric(m.allocation, prometheus.GaugeValue, float64(u.Quota), values...)
		out <- prometheus.MustNewConstMetric(m.debt, prometheus.GaugeValue, float64(u.Debt), values...)
	}
}
