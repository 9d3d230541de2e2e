package share

import "github.com/prometheus/client_golang/prometheus"

type metrics struct{ beats *prometheus.CounterVec }

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{beats: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "millstream_quota_heartbeats_total", Help: "Exchanges of shares with the database, by outcome.",
	}, []string{"outcome"})}
	for _, outcome := range []string{"ok", "failed"} {
		m.beats.WithLabelValues(outcome)
	}
	if reg != nil {
		reg.MustRegister(m.beats)
	}
	return m
}

func (m *metrics) beat(err error) {
	if err != nil {
		m.beats.WithLabelValues("failed").Inc()
		return
	}
	m.beats.WithLabelValues("ok").Inc()
}
