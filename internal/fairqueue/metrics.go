package fairqueue

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/tenant"
)

// What becomes of queries that get no slot.
const (
	outcomeRefused  = "refused"   // too many wait
	outcomeTimedOut = "timed_out" // MaxWait passed
	outcomeDeadline = "deadline"  // the request's own time passed
	outcomeCanceled = "canceled"  // the client left
	outcomeBusy     = "busy"      // no querier took it
)

// metrics are by org; orgs beyond tenant.MaxLabels share one label.
type metrics struct {
	seconds *prometheus.HistogramVec
	ended   *prometheus.CounterVec
	orgs    tenant.Labels
}

func newMetrics(reg prometheus.Registerer, q *Queue) *metrics {
	m := &metrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "millstream_query_queue_seconds", Help: "Time that queries waited for their turn, of those that got it, by org.",
			Buckets: []float64{0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 30},
		}, []string{"org"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_query_queue_ended_total", Help: "Queries that did not get their turn, by org and outcome.",
		}, []string{"org", "outcome"}),
	}
	if reg != nil {
		reg.MustRegister(m.seconds, m.ended, newGauges(q))
	}
	return m
}

func (m *metrics) waited(org tenant.ID, d time.Duration) {
	m.seconds.WithLabelValues(m.orgs.Of(org)).Observe(d.Seconds())
}

func (m *metrics) left(org tenant.ID, outcome string) {
	m.ended.WithLabelValues(m.orgs.Of(org), outcome).Inc()
}

// gauges tell the state of a queue at the moment of a scrape; only active orgs have series.
type gauges struct {
	queue                     *Queue
	capacity, length, running *prometheus.Desc
}

func newGauges(q *Queue) *gauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("millstream_query_queue_"+name, help, labels, nil)
	}
	return &gauges{
		queue:    q,
		capacity: desc("capacity", "Queries that this process lets run at once."),
		length:   desc("length", "Queries that wait for their turn, by org.", "org"),
		running:  desc("running", "Queries and parts of queries that run, by org.", "org"),
	}
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	out <- g.capacity
	out <- g.length
	out <- g.running
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	type counts struct{ waiting, running int }
	var capacity int
	orgs := make(map[string]counts)
	g.queue.with(func(c *core, _ time.Time) {
		capacity = c.capacity
		for l := range c.active {
			label := g.queue.metrics.orgs.Of(l.org)
			n := orgs[label]
			orgs[label] = counts{n.waiting + l.waiting, n.running + l.running}
		}
	})
	out <- prometheus.MustNewConstMetric(g.capacity, prometheus.GaugeValue, float64(capacity))
	for label, n := range orgs {
		out <- prometheus.MustNewConstMetric(g.length, prometheus.GaugeValue, float64(n.waiting), label)
		out <- prometheus.MustNewConstMetric(g.running, prometheus.GaugeValue, float64(n.running), label)
	}
}
