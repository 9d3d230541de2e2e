package wal

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	bytesWritten prometheus.Counter
	fsync        prometheus.Histogram
	groupRecords prometheus.Histogram
	segments     prometheus.Gauge
	size         prometheus.Gauge
	torn         prometheus.Counter
	quarantined  prometheus.Counter
	writeErrors  *prometheus.CounterVec
}

// Values of the label "op" of write errors.
const (
	opCreate = "create"
	opWrite  = "write"
	opSync   = "sync"
	opRemove = "remove"
)

// newMetrics makes the metrics, unregistered.
func newMetrics() *metrics {
	m := &metrics{
		bytesWritten: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millstream_wal_bytes_written_total", Help: "Bytes of groups written to segments.",
		}),
		fsync: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "millstream_wal_fsync_seconds", Help: "Duration of fsync of the active segment.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2, 17),
		}),
		groupRecords: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "millstream_wal_group_records", Help: "Records in a group.", Buckets: prometheus.ExponentialBuckets(1, 2, 12),
		}),
		segments: prometheus.NewGauge(prometheus.GaugeOpts{Name: "millstream_wal_segments", Help: "Segment files, those aside included."}),
		size: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "millstream_wal_size_bytes", Help: "Bytes of segment files, those aside included.",
		}),
		torn: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millstream_wal_torn_total", Help: "Unfinished tails that were cut off at start.",
		}),
		quarantined: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "millstream_wal_quarantined_records_total", Help: "Damaged ranges and records that were set aside in quarantine.",
		}),
		writeErrors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_wal_write_errors_total", Help: "File operations that did not succeed, by operation.",
		}, []string{"op"}),
	}
	for _, op := range []string{opCreate, opWrite, opSync, opRemove} {
		m.writeErrors.WithLabelValues(op)
	}
	return m
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		m.bytesWritten, m.fsync, m.groupRecords, m.segments, m.size, m.torn, m.quarantined, m.writeErrors,
	}
}

// register registers all or none.
func (m *metrics) register(reg prometheus.Registerer) error {
	for i, c := range m.collectors() {
		if err := reg.Register(c); err != nil {
			for _, done := range m.collectors()[:i] {
				reg.Unregister(done)
			}
			return fmt.Errorf("register metrics of the log: %w", err)
		}
	}
	return nil
}

func (m *metrics) unregister(reg prometheus.Registerer) {
	for _, c := range m.collectors() {
		reg.Unregister(c)
	}
}
