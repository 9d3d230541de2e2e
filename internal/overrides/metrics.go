package overrides

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/millstream/millstream/internal/limits"
	"github.com/millstream/millstream/internal/tenant"
)

// Results of looking at a changed file.
const (
	resultOK     = "ok"
	resultFaults = "bad_entries" // some orgs keep their last good values, all others have the new ones
	resultFailed = "failed"      // nothing of the file is in force
)

type metrics struct {
	reloads *prometheus.CounterVec
	success prometheus.Gauge
	loaded  prometheus.Gauge
	orgs    prometheus.Gauge
	badOrgs prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_overrides_reloads_total",
			Help: "Changes of the overrides file: ok, bad_entries (some orgs keep their last values), failed (all do).",
		}, []string{"result"}),
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "millstream_overrides_last_reload_successful", Help: "1 when the overrides file that was looked at last has no fault.",
		}),
		loaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "millstream_overrides_loaded_timestamp_seconds", Help: "When the overrides in force were put there.",
		}),
		orgs: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "millstream_overrides_orgs", Help: "Orgs that have overrides in force.",
		}),
		badOrgs: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "millstream_overrides_bad_orgs", Help: "Orgs whose entry in the overrides file has a fault.",
		}),
	}
	for _, result := range []string{resultOK, resultFaults, resultFailed} {
		m.reloads.WithLabelValues(result)
	}
	if reg != nil {
		reg.MustRegister(m.reloads, m.success, m.loaded, m.orgs, m.badOrgs)
	}
	return m
}

func (m *metrics) judged(result string, s Status, inForce map[tenant.ID]limits.Override) {
	m.reloads.WithLabelValues(result).Inc()
	m.success.Set(0)
	if result == resultOK {
		m.success.Set(1)
	}
	if !s.Loaded.IsZero() {
		m.loaded.Set(float64(s.Loaded.UnixMilli()) / 1000)
	}
	m.orgs.Set(float64(len(inForce)))
	bad := map[string]bool{}
	for _, f := range s.Faults {
		if f.Org != "" {
			bad[f.Org] = true
		}
	}
	m.badOrgs.Set(float64(len(bad)))
}
