package duck

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	waiting prometheus.Gauge
	running prometheus.Gauge
	idle    prometheus.Gauge
	opened  prometheus.Counter
}

// newMetrics registers the pool's metrics. A nil reg registers nothing.
func newMetrics(reg prometheus.Registerer) *metrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "millstream", Subsystem: "sql_engine", Name: name, Help: help})
	}
	m := &metrics{
		waiting: gauge("waiting_statements", "Statements that wait for an engine instance."),
		running: gauge("running_instances", "Engine instances in use."),
		idle:    gauge("idle_instances", "Engine instances kept open for the org that used them last."),
		opened: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "millstream", Subsystem: "sql_engine", Name: "opened_instances_total", Help: "Engine instances opened.",
		}),
	}
	if reg != nil {
		reg.MustRegister(m.waiting, m.running, m.idle, m.opened)
	}
	return m
}
