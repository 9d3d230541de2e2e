package filecache

import (
	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	bytes     prometheus.Gauge
	hits      prometheus.Counter
	fetched   prometheus.Counter
	failures  prometheus.Counter
	evictions prometheus.Counter
}

// newMetrics registers the cache's metrics; a nil reg registers nothing.
func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "millstream", Subsystem: "file_cache", Name: name, Help: help})
	}
	m := &metrics{
		bytes: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "millstream", Subsystem: "file_cache", Name: "bytes", Help: "Bytes of copies, those being fetched included.",
		}),
		hits:      counter("hits_total", "Files that were there when a plan asked for them."),
		fetched:   counter("fetched_bytes_total", "Bytes fetched from the object store."),
		failures:  counter("failures_total", "Fetches that failed."),
		evictions: counter("evictions_total", "Copies dropped to make room."),
	}
	if reg != nil {
		reg.MustRegister(m.bytes, m.hits, m.fetched, m.failures, m.evictions)
	}
	return m
}
