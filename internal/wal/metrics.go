package wal

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
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

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		bytesWritten: f.NewCounter(prometheus.CounterOpts{
			Name: "millstream_wal_bytes_written_total", Help: "Bytes of groups written to segments.",
		}),
		fsync: f.NewHistogram(prometheus.HistogramOpts{
			Name: "millstream_wal_fsync_seconds", Help: "Duration of fsync of the active segment.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2, 17),
		}),
		groupRecords: f.NewHistogram(prometheus.HistogramOpts{
			Name: "millstream_wal_group_records", Help: "Records in a group.", Buckets: prometheus.ExponentialBuckets(1, 2, 12),
		}),
		segments: f.NewGauge(prometheus.GaugeOpts{Name: "millstream_wal_segments", Help: "Segment files, those aside included."}),
		size: f.NewGauge(prometheus.GaugeOpts{
			Name: "millstream_wal_size_bytes", Help: "Bytes of segment files, those aside included.",
		}),
		torn: f.NewCounter(prometheus.CounterOpts{
			Name: "millstream_wal_torn_total", Help: "Unfinished tails that were cut off at start.",
		}),
		quarantined: f.NewCounter(prometheus.CounterOpts{
			Name: "millstream_wal_quarantined_records_total", Help: "Damaged ranges and records that were set aside in quarantine.",
		}),
		writeErrors: f.NewCounterVec(prometheus.CounterOpts{
			Name: "millstream_wal_write_errors_total", Help: "File operations that did not succeed, by operation.",
		}, []string{"op"}),
	}
	for _, op := range []string{opCreate, opWrite, opSync, opRemove} {
		m.writeErrors.WithLabelValues(op)
	}
	return m
}
