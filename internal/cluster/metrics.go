package cluster

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/fault"
)

// metrics are what a process tells of its membership.
type metrics struct {
	calls *prometheus.CounterVec
	cache *cache

	epoch, members, joining, stale *prometheus.Desc
}

func newMetrics(reg prometheus.Registerer, c *cache) *metrics {
	role := []string{"role"}
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_cluster_store_calls_total",
			Help: "Calls of the membership store by operation and outcome: ok, or the code of the error.",
		}, []string{"operation", "outcome"}),
		cache:   c,
		epoch:   prometheus.NewDesc("millstream_cluster_epoch", "Epoch of the view that this node acts on.", nil, nil),
		members: prometheus.NewDesc("millstream_cluster_members", "Members that this node sees, by role.", role, nil),
		joining: prometheus.NewDesc("millstream_cluster_joining", "Nodes that will be members after one peer timeout, by role.", role, nil),
		stale: prometheus.NewDesc("millstream_cluster_view_stale_seconds",
			"Age of the view when it is older than it should be: the database does not answer. Else 0.", nil, nil),
	}
	reg.MustRegister(m.calls, m)
	return m
}

func (m *metrics) called(operation string, err error) {
	outcome := "ok"
	if err != nil {
		outcome = fault.KindOf(err).String()
	}
	m.calls.WithLabelValues(operation, outcome).Inc()
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.epoch, m.members, m.joining, m.stale} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(m.stale, m.cache.stale().Seconds())
	v := m.cache.current()
	if v == nil {
		return
	}
	gauge(m.epoch, float64(v.Epoch))
	for _, r := range Roles() {
		gauge(m.members, float64(len(v.Members[r])), string(r))
		gauge(m.joining, float64(len(v.Joining[r])), string(r))
	}
}
