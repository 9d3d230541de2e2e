package quota

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// maxLabels is how many budgets have series of their own.
const maxLabels = 1000

// manyBudgets stands for those beyond. No id or name has its characters.
const manyBudgets = "(other)"

// labels decides which budgets have series of their own: the first ones that ask.
type labels struct {
	mu   sync.Mutex
	seen map[Budget]struct{}
}

// of returns the values of kind, org and database.
func (l *labels) of(b Budget) []string {
	if !l.has(b) {
		return []string{string(b.Kind), manyBudgets, manyBudgets}
	}
	return []string{string(b.Kind), string(b.Org), b.Database}
}

func (l *labels) has(b Budget) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.seen[b]; ok {
		return true
	}
	if len(l.seen) >= maxLabels {
		return false
	}
	if l.seen == nil {
		l.seen = map[Budget]struct{}{}
	}
	l.seen[b] = struct{}{}
	return true
}

// rowMetrics tells of the row limits.
type rowMetrics struct {
	rows                    *Rows
	labels                  labels
	refused                 *prometheus.CounterVec
	limit, allocation, debt *prometheus.Desc
}

func budgetLabels() []string { return []string{"kind", "org", "database"} }

func newRowMetrics(r *Rows, reg prometheus.Registerer) *rowMetrics {
	m := &rowMetrics{
		rows: r,
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_quota_refused_total", Help: "What the limits of databases refused here, in units of the kind.",
		}, budgetLabels()),
		limit:      prometheus.NewDesc("millstream_quota_limit", "The whole limit a second.", budgetLabels(), nil),
		allocation: prometheus.NewDesc("millstream_quota_allocation", "The part of the limit in force here, a second.", budgetLabels(), nil),
		debt:       prometheus.NewDesc("millstream_quota_debt", "What was taken too much here and is not paid yet.", budgetLabels(), nil),
	}
	if reg != nil {
		reg.MustRegister(m, m.refused)
	}
	return m
}

func (m *rowMetrics) refuse(c Charge) {
	m.refused.WithLabelValues(m.labels.of(c.budget())...).Add(float64(c.Rows))
}

// Describe implements prometheus.Collector.
func (m *rowMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- m.limit
	out <- m.allocation
	out <- m.debt
}

// Collect implements prometheus.Collector. Budgets beyond the bound have no gauges: a sum of limits would tell nothing.
func (m *rowMetrics) Collect(out chan<- prometheus.Metric) {
	for _, u := range m.rows.Usage() {
		if u.Limit == 0 || !m.labels.has(u.Budget) {
			continue
		}
		values := m.labels.of(u.Budget)
		out <- prometheus.MustNewConstMetric(m.limit, prometheus.GaugeValue, float64(u.Limit), values...)
		out <- prometheus.MustNewConstMetric(m.allocation, prometheus.GaugeValue, float64(u.Quota), values...)
		out <- prometheus.MustNewConstMetric(m.debt, prometheus.GaugeValue, float64(u.Debt), values...)
	}
}
